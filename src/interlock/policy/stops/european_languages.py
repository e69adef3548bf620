"""What languages of Europe say at the end of a turn."""

from __future__ import annotations

from typing import Final

from interlock.policy.stops.phrases import (
    CYRILLIC,
    FEW,
    Language,
    one_of,
)

_GERMAN_ACTS: Final = one_of("""
    führe, prüfe, schaue, starte, öffne, lese, schreibe, teste, erstelle, ändere, behebe, suche,
    ergänze, aktualisiere, installiere, entferne, ersetze, rufe, gehe, mache, füge, baue, passe,
    überprüfe, analysiere, untersuche, lade, lösche, implementiere, beginne, fange, kümmere,
    korrigiere, repariere, verschiebe, benenne, kopiere, übernehme, setze, stelle, sehe, richte,
    wechsle, hole, nehme, bereinige, vergleiche, wiederhole
""")
GERMAN: Final = Language(
    announces=rf"""
        ich werde, ich muss, ich will, lass mich, lassen sie mich, lass uns, wir müssen noch, ich
        {_GERMAN_ACTS}(?: (?:das|es|sie|ihn|mir|mich|dies))? (?:nun|jetzt|als nächstes|zuerst|dann
        |noch|kurz|erst|gleich|sofort|mir|mich), (?:jetzt|nun|als nächstes|zuerst|dann|zunächst
        |anschließend|danach) (?:werde|muss|{_GERMAN_ACTS}) (?:ich|wir), (?:schauen|sehen|prüfen
        |testen|öffnen) wir (?:uns|jetzt|nun|mal|das|die|den), ich (?:fange|beginne|starte) mit, ich
        [^ ,.;]+e (?:jetzt|nun|gleich|zuerst|als nächstes), (?:als nächstes|danach|jetzt|nun|dann)
        (?:kommt|kommen|folgt|folgen|steht|stehen|fehlt|fehlen), (?:der rest|die (?:übrigen
        |restlichen|anderen|nächsten)){FEW} folg(?:t|en), es fehl(?:t|en) (?:nur |jetzt )?noch,
        bleib(?:t|en) (?:nur |jetzt )?noch, ich lasse(?: (?:den|die|das|es|sie)(?: [^ ,.;]+)?)?
        (?:jetzt|nun|zuerst|gleich|kurz) (?:[^ ,.;]+ ){{0,4}}(?:durch)?laufen, (?:jetzt|nun|als
        nächstes|zuerst|dann|danach|anschließend) lasse ich{FEW} (?:durch)?laufen, (?:als nächstes
        |zunächst) [^ ,.;]+e ich, nächster schritt:, ^(?:dann |also )?weiter (?:mit|geht|im), ich
        mache{FEW} weiter, ich fahre{FEW} fort, mache ich{FEW} weiter, fahre ich{FEW} fort, ^bevor
        ich [^.;:]*\x2c {_GERMAN_ACTS} ich, ich {_GERMAN_ACTS} (?:das|die|den|der|alle|beide
        |zuerst|es|sie|ihn), ich [^ ,.;]+e (?:das|die|den|alle|beide|es|sie|ihn|code)(?: [^ .;]+)*
        (?:nach|ein|um|aus|hinzu|zurück|zusammen|neu|erneut|wieder|nochmals?|noch einmal)[.:]?$,
        (?:die|das|den|es|sie|ihn|beide|alle) (?:{_GERMAN_ACTS}|[^ ,.;]+[^ ,.;bdt]e) ich (?:jetzt
        |nun|gleich|sofort|als nächstes), (?:jetzt|nun|als nächstes|zuerst|danach)(?: nur)?(?:
        noch)? (?:die|das|den|alle|einen|eine|ein|code|beide) (?:[^ .;:]+ )*[^ .;:]+en[.:]?$, ich
        bin (?:jetzt |gerade |noch )*(?:dabei\x2c|am), (?:machen|fangen|gehen) wir (?:mit|jetzt|nun
        |weiter)
    """,
    ends=r"""
        einreichen, ich reiche, abgeben, ich gebe, abschließen, ich schließe, beenden, ich beende,
        zusammenfassen, ich fasse, fasse ich, reiche ich, schließe ich, beende ich, gebe ich
    """,
    denies=r"""
        erklären, warten, warte, hinweisen, sagen, nicht, bitten, bitte, merken, empfehlen, freuen,
        nichts, (?:als nächstes|zunächst) (?:habe|hätte|würde|sehe) ich, ich (?:habe|hätte|würde
        |denke|glaube|finde|bleibe|meine|hoffe|empfehle|sehe keine), ^wenn, ^falls, ^sobald
    """,
    requests=r"""
        soll ich, sollen wir, möchtest du, möchten sie, sag mir, sagen sie mir, gib mir bescheid,
        gib bescheid, geben sie mir bescheid, geben sie bescheid, melde dich, melden sie sich,
        bitte, sag bescheid, sagt bescheid, sagen sie bescheid, sag kurz bescheid, sag mir bescheid,
        ich brauche (?:noch )?(?:dein|deine|deinen|ihr|ihre|ihren|von dir|von ihnen)
    """,
    offers=r"""
        wenn du, wenn sie, solltest du, sollten sie, du solltest, falls du, falls sie, sobald du,
        sobald sie, du kannst, sie können, du musst, sie müssen
    """,
    awaits=r"""
        ich warte auf (?:deine|ihre|dein|ihr|dich|sie|eure), ich warte, warte auf deine,
        warte auf ihre
    """,
    runs=rf"""
        (?:ich lasse|lasse ich|wir lassen|lassen wir){FEW} (?:im hintergrund (?:weiter ?)?laufen
        |weiter ?laufen), (?:läuft|laufen|lädt|baut)
        (?:jetzt |nun |noch |gerade |weiter |derzeit )*im hintergrund, (?:läuft|laufen)
        (?:gerade |derzeit )?(?:noch|weiterhin)(?: immer)?, im hintergrund gestartet,
        warte(?:n)? auf (?:das ende|den build|die tests|das ergebnis|den lauf|den abschluss),
        warte(?:n)?\x2c? bis (?:der|die|das|es|er|sie)
    """,
    bound=rf"""
        sobald, wenn (?:der|die|das|es|er|sie|alles){FEW} (?:ist|sind|hat|haben|endet|meldet), nach
        (?:dem |deren |dessen )?(?:ende|abschluss|ablauf), (?:danach|anschließend)
    """,
    left=r"""
        noch offen(?: ist| sind)?:?, (?:steht|stehen)(?: jetzt)? noch aus,
        noch zu (?:tun|erledigen|machen), noch nicht (?:erledigt|umgesetzt|implementiert|fertig
        |angepasst|getestet|migriert|gemacht|begonnen|angefangen|geschrieben|aktualisiert),
        offene punkte:
    """,
    patience=r"""
        ^(?:bitte )?(?:einen )?(?:kurzen )?(?:moment|augenblick)(?: bitte)?[.!\x{2026}]*$
    """,
    remarks=r"""
        ^(?:das|dies|damit|danach|anschließend|dabei|dann|so)
    """,
)
FRENCH: Final = Language(
    announces=r"""
        je vais, je dois, je m'en occupe, je m'y mets, il me reste (?:encore |juste )?à,
        ^(?:puis )?je (?:continue|poursuis|reprends) (?:avec|sur|par|le|la|les), laissez-moi,
        laisse-moi, passons (?:maintenant |ensuite )?(?:à|au|aux), il me faut, prochaine étape ?:,
        (?:il )?reste (?:encore |maintenant )?(?:à|deux|trois),
        (?:place|au tour) (?:à|au|aux|de|du|des), je [^ ,.;]+[eéi]rai, ^en cours ?:,
        je passe (?:maintenant |ensuite )?(?:à|au|aux), je (?:lance|vérifie|corrige|lis|ouvre|teste
        |crée|modifie|ajoute|supprime|exécute|cherche|commence|installe|remplace|relance|regarde
        |mets à jour|continue) (?:(?:ça|cela|ceci|(?:le|la|les|un|une|ce|cette|ces)
        [^ ,.]+) )?(?:maintenant|ensuite|d'abord|alors|donc|tout de suite|immédiatement), (?:^| )je
        (?:le |la |les |l')?(?:lance|vérifie|corrige|lis|ouvre|teste|crée|modifie|ajoute|supprime
        |exécute|cherche|commence|installe|remplace|relance|regarde|mets à jour), (?:maintenant
        |ensuite|d'abord|puis)(?:,)? je (?:lance|vérifie|corrige|lis|ouvre|teste|crée|modifie|ajoute
        |supprime|exécute|cherche|commence|installe|remplace|relance|regarde|mets à jour|continue),
        (?:^|maintenant |ensuite |puis )je (?:le |la |les |l')?(?:renomme|déplace|adapte|ajuste
        |implémente|écris|rédige|génère|compile|déploie|nettoie|refactorise|extrais|analyse|examine
        |explore|inspecte|applique|intègre|configure|pousse|construis|prépare|retire|réécris|répare
        |complète|traite|recherche|récupère|migre|refais|démarre|redémarre|enchaîne), je m'attaque,
        je suis en train de
    """,
    ends=r"""
        soumettre, je soumets, rendre, je rends, remettre, je remets, conclure, je conclus,
        terminer, je termine, finaliser, je finalise, résumer, je résume, clore, récapituler
    """,
    denies=r"""
        expliquer, attendre, attends, ne [^.;]*pas, n'[^.;]*pas, pas (?:encore|besoin), préciser,
        rien, je (?:serai|aurai|pourrai|resterai), disposition, ^si, ^quand, ^lorsque, ^dès que
    """,
    requests=r"""
        voulez-vous, veux-tu, souhaitez-vous, souhaites-tu, dois-je, dites-moi, dis-moi,
        faites-moi savoir, fais-moi savoir, n'hésitez pas, n'hésite pas, veuillez, s'il te plaît,
        s'il vous plaît, j'ai besoin (?:de votre|de ton|de ta|de vos|que vous|que tu),
        il me faut (?:votre|ton|ta|vos)
    """,
    offers=r"""
        si vous, si tu, dès que vous, dès que tu, vous pouvez, tu peux, vous devez, tu dois,
        vous devrez, tu devras
    """,
    awaits=r"""
        j'attends (?:votre|ta|ton|vos|tes), j'attends, dans l'attente de, en attente de votre,
        en attente de ta
    """,
    runs=rf"""
        je (?:(?:le|la|les) )?(?:laisse|laisserai|vais laisser){FEW} (?:tourner|s'exécuter){FEW} en
        arrière-plan, (?:tourne|tournent|s'exécute|s'exécutent|est en cours|sont en cours)
        (?:toujours |encore |maintenant |actuellement )*(?:en arrière-plan|d'exécution),
        (?:tourne|tournent) (?:toujours|encore), (?:lancé|lancée|lancés|lancées) en arrière-plan,
        attends (?:la fin|que le|que la|que les|qu'il|qu'elle|qu'ils|le résultat|les résultats),
        attendre (?:la fin|que le|que la|que les)
    """,
    bound=r"""
        dès (?:que|qu'(?:il|elle|ils|elles)|la fin), une fois, quand, lorsque?, lorsqu'(?:il|elle),
        à la fin, après, ensuite, à ce moment-là
    """,
    left=r"""
        restent (?:encore |donc |juste |maintenant )*à [^ ,.;]+(?:er|ir|re), (?:pas|n'ont pas)
        encore (?:été )?(?:fait|commenc|implément|terminé|testé|migré|écrit|traité|corrigé)[^ ,.;]*,
        encore à faire, il manque encore, il reste (?:encore )?(?:les|ces|deux|trois|quatre|\d+),
        reste à faire ?:
    """,
    remarks=r"""
        ^(?:cela|ceci|ça|cette|ensuite|puis|après|ainsi)
    """,
)
SPANISH: Final = Language(
    announces=r"""
        voy a, voy con, vamos a, déjame, déjeme, permíteme, permítame, tengo que, debo, procedo a,
        procederé a, necesito (?:ejecutar|revisar|verificar|comprobar|corregir|crear|modificar|leer
        |abrir|probar|añadir|agregar|actualizar|instalar|buscar|ver), (?:ahora|primero|luego|después
        |a continuación)(?:,)? (?:ejecuto|reviso|verifico|compruebo|corrijo|creo|modifico|leo|abro
        |pruebo|añado|agrego|actualizo|instalo|busco|ejecutaré|revisaré|verificaré|comprobaré
        |corregiré|crearé|modificaré|leeré|abriré|probaré|añadiré|agregaré|actualizaré|instalaré
        |buscaré), siguiente paso:, lo hago, ahora (?:toca|tocan|falta|faltan|viene|vienen|sigue|le
        toca), (?:falta|faltan|queda|quedan) (?:por|solo|aún|todavía), (?:solo|aún|todavía) faltan?,
        ^(?:ahora )?(?:empezando|comenzando|empiezo|comienzo|pasando|paso) (?:por|con|a|al),
        ^(?:ahora |luego |después |lo |la )?[^ ,.;]+(?:aré|eré|iré), lo siguiente es,
        ^(?:ahora )?(?:sigo|continúo|prosigo|seguimos) con, ^(?:lo |la |los |las |y )?(?:ejecuto
        |reviso|verifico|compruebo|corrijo|modifico|leo|abro|pruebo|añado|agrego|actualizo|instalo
        |busco|elimino|cambio|ajusto|arreglo|vuelvo a), estoy [^ ,.;]+ndo
    """,
    ends=r"""
        enviar (?:la|mi) (?:respuesta|solución), entregar, entrego, concluir, concluyo, terminar,
        termino, finalizar, finalizo, resumir, cerrar la tarea, dar por,
        presentar la (?:respuesta|solución)
    """,
    denies=r"""
        explicar, esperar, espero, nada, estaré, seré, quedaré, tendré, no (?:voy|vamos|tengo|debo
        |necesito|procedo|es|hace|hay|se|lo|la|los|las|me|nos|puedo|podemos|está|están|ha|he|hemos
        |quiero|modifico|cambio), esperando, ^si, ^cuando, ^en cuanto
    """,
    requests=r"""
        quieres que, quiere que, deseas que, desea que, dígame, dime, avísame, avíseme, hazme saber,
        hágame saber, por favor, necesito que, necesito tu, necesito su
    """,
    offers=r"""
        si quieres, si quiere, si desea, si deseas, si necesitas, si necesita, cuando quieras,
        cuando quiera, puedes, puede usted, usted puede, debes, tendrás que, tienes que
    """,
    awaits=r"""
        espero tu, espero su, espero tus, espero sus, quedo a la espera, estaré esperando tu,
        estaré esperando su, quedo atento, quedo atenta, espero
    """,
    runs=rf"""
        (?:dejo|dejaré|dejamos|voy a dejar){FEW} (?:ejecutándose|corriendo|en ejecución|ejecute
        |ejecuten|corra|corran) en segundo plano, (?:se está ejecutando|se están ejecutando|sigue
        ejecutándose|siguen ejecutándose|está corriendo|están corriendo|corre|corren|se ejecuta|se
        ejecutan) (?:ahora |aún |todavía )*en segundo plano, (?:sigue|siguen) (?:ejecutándose
        |en marcha|corriendo|en ejecución|en curso), (?:iniciado|iniciada|lanzado|lanzada) en
        segundo plano, (?:espero|esperar|esperaré) (?:a que|el resultado|los resultados)
    """,
    bound=r"""
        cuando, en cuanto, una vez, tan pronto como, al (?:terminar|acabar|finalizar), tras,
        después, entonces
    """,
    left=r"""
        pendientes? ?:, quedan? pendientes?, (?:todavía|aún) no (?:está|están|se ha|se han|he|hemos)
        [^ ,.;]+
    """,
    remarks=r"""
        ^(?:esto|eso|así|después|luego|con esto)
    """,
)
PORTUGUESE: Final = Language(
    announces=r"""
        vou (?:executar|rodar|verificar|checar|corrigir|criar|modificar|ler|abrir|testar|adicionar
        |atualizar|instalar|buscar|procurar|começar|iniciar|analisar|remover|ajustar|implementar
        |continuar|fazer|agora|primeiro|então|usar|escrever|olhar|ver|revisar|configurar), deixe-me,
        deixa eu, vamos (?:executar|rodar|verificar|corrigir|criar|testar|adicionar|atualizar
        |instalar|começar|continuar|analisar|remover|implementar|ver), preciso (?:executar|rodar
        |verificar|checar|corrigir|criar|modificar|ler|abrir|testar|adicionar|atualizar|instalar
        |buscar|ver), tenho que, em seguida(?:,)? vou, (?:agora|primeiro|depois)(?:,)? (?:executo
        |verifico|corrijo|crio|testo|adiciono|vou), próximo passo:,
        (?:falta|faltam|resta|restam) (?:só|apenas|ainda), (?:só|ainda) faltam?,
        ^(?:agora )?(?:começando|começo|passando|passo) (?:por|pelo|pela|com|para), agora é a vez,
        ^(?:agora |depois |então )?[^ ,.;]+(?:arei|erei|irei), faço (?:isso|isto|já), cuido disso,
        ^(?:agora )?(?:sigo|continuo|prossigo) (?:com|para), vamos (?:ao|à|aos|às|para o|para a)
        (?:próxim|segund|terceir)[oa]s?, ^(?:executo|verifico|corrijo|testo|adiciono|atualizo|removo
        |ajusto|reviso|altero), vou [^ ,.;]+(?:ar|er|ir|á-l[oa]s?|ê-l[oa]s?|i-l[oa]s?|ar-l[oa]s?),
        estou [^ ,.;]+ndo, ^(?:agora|primeiro|depois)(?:,)? (?:atualizo|removo|ajusto|altero|rodo
        |reviso|implemento|escrevo)
    """,
    ends=r"""
        enviar (?:a|minha) (?:resposta|solução), submeter, entregar, concluir, finalizar, encerrar,
        terminar, resumir
    """,
    denies=r"""
        explicar, esperar, aguardar, não, nada, serei, estarei, terei, ficarei, aguardando,
        esperando, ^se (?:quiser|precisar|você|estiver|preferir|concordar|houver|tudo|o|a), ^quando,
        ^assim que
    """,
    requests=r"""
        quer que, gostaria que, me avise, avise-me, me diga, diga-me, por favor, preciso que,
        preciso da sua, preciso do seu
    """,
    offers=r"""
        se quiser, se precisar, se você, você pode, você precisa, você deve, quando quiser
    """,
    awaits=r"""
        aguardo (?:sua|seu|suas|seus|o seu|a sua), fico no aguardo, aguardando sua, aguardando seu,
        aguardo
    """,
    runs=rf"""
        (?:deixo|deixarei|deixamos|vou deixar){FEW} (?:rodando|executando|em execução|rodar) em
        segundo plano, (?:está rodando|estão rodando|está executando|está sendo executado|está em
        execução|continua rodando|continuam rodando|roda|rodam) (?:agora |ainda )*em segundo plano,
        (?:continua|continuam|ainda está|ainda estão) (?:rodando|executando|em execução|em
        andamento), (?:iniciado|iniciada) em segundo plano, (?:aguardar|aguardo|esperar|espero) (?:o
        término|a conclusão|o resultado|que o|que a)
    """,
    bound=r"""
        quando, assim que, logo que, depois, após, ao (?:terminar|acabar|final|concluir|término)
    """,
    left=r"""
        ainda não (?:foi|foram|está|estão|fiz|implementei|comecei|terminei|testei), pendentes? ?:,
        (?:falta|faltam|resta|restam) [^ ,.;]+(?:ar|er|ir), ^restam
    """,
    remarks=r"""
        ^(?:isso|isto|assim|depois|em seguida|com isso)
    """,
)
ITALIAN: Final = Language(
    announces=r"""
        ^(?:ora )?(?:continuo|proseguo) con, ^passo (?:ora )?(?:al|alla|ai|alle), lasciami, mi
        lasci, procedo (?:subito |ora |quindi )?(?:a|con|alla), (?:inizio|comincio|parto|passo)
        subito, devo ora, devo ancora, ora devo, sto per, (?:ora|adesso|poi|prima|quindi
        |successivamente)(?:,)? (?:eseguo|verifico|controllo|correggo|creo|modifico|leggo|apro|provo
        |aggiungo|aggiorno|installo|cerco|avvio|lancio|passo|eseguirò|verificherò|controllerò
        |correggerò|creerò), vado a, (?:eseguirò|verificherò|controllerò|correggerò|creerò
        |modificherò|leggerò|aprirò|proverò|aggiungerò|aggiornerò|installerò|cercherò|avvierò),
        (?:manca|mancano|resta|restano) (?:ancora|solo|da), ora tocca, ^(?:ora )?(?:comincio|inizio
        |cominciando|iniziando|parto|passo) (?:da|dal|dalla|con|a|ai), ^(?:ora |poi |lo |la
        )?[^ ,.;]+[ei]rò, ^(?:lo |la |li |le )?(?:eseguo|verifico|correggo|modifico|leggo|apro
        |aggiungo|aggiorno|installo), sto [^ ,.;]+ndo, (?:ora|adesso|poi|prima)(?:,)? (?:implemento
        |scrivo|rimuovo|sistemo|rilancio|sposto|sostituisco), (?:ora|adesso|poi|quindi) (?:lo|la
        |li|le|ne) [^ ,.;]*[^ ,.;n]o
    """,
    ends=r"""
        inviare la (?:risposta|soluzione), invio la (?:risposta|soluzione), consegnare, consegno,
        concludere, concludo, terminare, termino, finalizzare, riassumere, riassumo
    """,
    denies=r"""
        spiegare, aspettare, attendere, attendo, non, niente, nulla, sarò, avrò, potrò, aspettando,
        attendendo, pensando, ^se (?:vuoi|sei|ti|tutto|va|preferisci|hai|d'accordo), ^quando,
        ^appena
    """,
    requests=r"""
        fammi sapere, mi faccia sapere, vuoi che, vuole che, per favore, dimmi, mi dica,
        ho bisogno che, ho bisogno (?:del tuo|della tua|del suo|della sua),
        mi serve (?:il tuo|la tua)
    """,
    offers=r"""
        se vuoi, se vuole, puoi, potete, può, devi, quando vuoi
    """,
    awaits=r"""
        attendo (?:la tua|il tuo|la sua|il suo|una tua|tue|sue), resto in attesa,
        in attesa di una tua, attendo
    """,
    runs=rf"""
        (?:lascio|lascerò|lasciamo){FEW} (?:in esecuzione|girare|andare){FEW} in background, (?:(?:è
        |sono) in (?:esecuzione|corso)|gira|girano|sta girando|stanno girando)
        (?:ora |ancora |adesso )*in background, (?:è ancora|sono ancora) in (?:esecuzione|corso),
        (?:avviato|avviata) in background, (?:attendo|aspetto|attendere|aspettare) (?:che|la fine|il
        risultato|il completamento)
    """,
    bound=r"""
        quando, (?:non )?appena, una volta, al termine, alla fine, dopo, poi
    """,
    left=r"""
        non (?:ho|è|sono) ancora [^ ,.;]+, ^(?:ne )?(?:restano|rimangono), ancora da (?:fare
        |scrivere|testare|aggiornare|completare)
    """,
    remarks=r"""
        ^(?:questo|così|poi|dopo|in questo modo)
    """,
)
DUTCH: Final = Language(
    announces=r"""
        ik ga, nu nog, rest nog, ^nog [^ ,.;]+(?: [^ ,.;]+)? te gaan, ^(?:en )?daarna (?:de|het),
        volgende stap:, nu (?:is|zijn|komt|komen) (?:de|het), ik (?:begin|start|werk|pas|maak
        |controleer|test|voeg|draai) (?:nu|eerst|met|de|het|dit|dat|verder), ik zal nu, ik zal
        eerst, ik zal de, ik zal het, ik moet nog, ik moet nu, laat me (?:eerst|nu|de|het|even|dit
        |dat|dan|kijken|controleren|testen|beginnen), (?:nu|eerst|daarna|vervolgens|dan) (?:voer
        |controleer|start|open|lees|schrijf|test|maak|wijzig|zoek|installeer|verwijder|ga|pas|voeg
        |werk|bekijk) ik
    """,
    ends=r"""
        indienen, ik dien, inleveren, ik lever, afronden, ik rond, afsluiten, ik sluit, samenvatten,
        ik vat, beëindigen, dien ik, lever ik, rond ik, sluit ik
    """,
    denies=r"""
        uitleggen, wachten, wacht, niet, weten, ^als (?:je|u|het|de|dat|alles), ^zodra
    """,
    requests=r"""
        laat me weten, laat het me weten, laat het weten, wil je dat, wilt u dat, zal ik,
        alsjeblieft, alstublieft, ik heb (?:je|jouw|uw)
    """,
    offers=r"""
        als je, als u, je kunt, u kunt, je moet, u moet, zodra je, zodra u
    """,
    awaits=r"""
        ik wacht op (?:je|jouw|uw), ik wacht, ik hoor graag, ik hoor het graag
    """,
    runs=rf"""
        (?:ik laat|laat ik){FEW} (?:op de achtergrond (?:door)?(?:draaien|lopen)|doorlopen
        |doordraaien), (?:draait|draaien|loopt|lopen) (?:nu |nog |steeds |momenteel )*op de
        achtergrond, (?:draait|draaien|loopt|lopen) nog(?: steeds)?, op de achtergrond gestart,
        wacht(?:en)? (?:tot (?:de|het)|op het resultaat|op de build|op de tests)
    """,
    bound=rf"""
        zodra, wanneer, als (?:het|hij|ze|de|alles){FEW} klaar, na (?:afloop|het einde), daarna
    """,
    left=rf"""
        nog niet (?:gedaan|af|klaar|geïmplementeerd|getest|aangepast|begonnen), nog te doen, de
        (?:overige|resterende){FEW} (?:volgen|moeten), moeten nog, moet nog (?:worden)?
    """,
    remarks=r"""
        ^(?:dit|dat|daarna|zo|vervolgens)
    """,
)
_RUSSIAN_ACTS: Final = one_of("""
    запущу, проверю, исправлю, добавлю, создам, открою, прочитаю, посмотрю, изменю, обновлю,
    установлю, найду, напишу, удалю, перейду, начну, сделаю, выполню, протестирую, попробую, изучу,
    поищу, внесу, заменю, перезапущу, продолжу
""")
RUSSIAN: Final = Language(
    script=CYRILLIC,
    announces=rf"""
        (?:сейчас|теперь|далее|затем|сначала|потом)(?:,)? (?:я )?{_RUSSIAN_ACTS},
        я (?:сейчас |теперь |сначала |также )?{_RUSSIAN_ACTS}, мне нужно, мне надо, давайте
        (?:я )?(?:проверим|запустим|исправим|посмотрим|добавим|создадим|откроем|начнём|начнем
        |{_RUSSIAN_ACTS}), {_RUSSIAN_ACTS} (?:сейчас|теперь), я (?:сейчас )?буду, на очереди,
        следующий шаг:, очередь за, (?:сейчас|теперь|далее|дальше|затем|сначала|потом|заодно
        |сразу)(?:,)? (?:я |же |ещё )*[^ ,.;]{{2,}}(?:аю|яю|(?:ир|из|ьз|мен|проб|рис)ую|жу|шу|щу|лю
        |ню|рю|еду|йду|юсь|усь), (?:осталось|остаётся) (?:только |лишь )?[^ ,.;]+(?:ть|ти|чь|ться),
        ^(?:теперь |сейчас |затем )?[^ ,.;]{{2,}}(?:аю|яю|(?:ир|из|ьз|мен|проб|рис)ую|жу|шу|щу|лю|ню
        |рю|еду|йду|юсь|усь), [^ ,.;]{{2,}}(?:аю|яю)[.!]*$, перехожу к, приступаю к,
        продолжаю, (?:сейчас|теперь|затем) [^ ,.;]{{2,}}[ую] (?:её|их|это|его),
        ^{_RUSSIAN_ACTS}, ^(?:исправляю|проверяю|запускаю|добавляю|обновляю|ищу|смотрю|читаю|пишу
        |создаю|удаляю|устанавливаю|тестирую|меняю|начинаю|продолжаю|открываю|переношу|собираю
        |изучаю)
    """,
    ends=r"""
        отправлю (?:решение|ответ|результат), отправить (?:решение|ответ|результат), сдам, сдать,
        завершу, завершить, завершаю, закончу, закончить, подведу, подвести, подытожу
    """,
    denies=r"""
        объясню, объяснить, подожду, ждать, подождать, ^(?:[^,]* )?не, не [^ ,.;]+[юу], ничего,
        рекомендую,
        советую, предлагаю,
        думаю, считаю, надеюсь, полагаю, благодарю, понимаю, знаю, желаю, обещаю, поздравляю,
        извиняюсь, подтверждаю, вижу, учту, запомню, напоминаю, отвечаю, поясняю, могу, ^если,
        ^когда
    """,
    requests=r"""
        сообщите, сообщи, дайте знать, дай знать, пожалуйста, скажите, мне нужен ваш,
        мне нужна ваша, пришлите, пришли, подтвердите, подтверди, уточните, напишите, напиши
    """,
    offers=r"""
        если вы, если нужно, если хотите, если ты, вы можете, ты можешь, можете, вам нужно,
        тебе нужно, если (?:соглас|устраив|подход|подтверд|одобр)[^ ,.;]*,
        если (?:всё|все) (?:ок|верно), (?:когда|как только) (?:вы|ты|скаж[^ ,.;]+|подтверд[^ ,.;]+
        |одобр[^ ,.;]+)
    """,
    awaits=r"""
        жду (?:вашего|вашей|твоего|твоей|ваш|вас|ответа), жду, буду ждать вашего, буду ждать твоего,
        ожидаю вашего, ожидаю ответа
    """,
    runs=rf"""
        (?:оставляю|оставлю|оставляем){FEW} (?:в фоне|в фоновом режиме), (?:работает|работают
        |выполняется|выполняются|запущен|запущена|запущены|идёт|идет|собирается)
        (?:сейчас |теперь |всё ещё |все еще |ещё |еще )*(?:в фоне|в фоновом режиме), (?:всё ещё|все
        еще|ещё|еще) (?:работает|работают|выполняется|выполняются|идёт|идет), (?:жду|подожду|ожидаю
        |дождусь) (?:завершения|окончания|результата|результатов|пока)
    """,
    bound=r"""
        когда, как только, после, по (?:завершении|окончании), потом, затем
    """,
    left=r"""
        осталось(?: [^ ,.:;]+)?:, осталось (?:ещё|еще), (?:ещё|еще|пока) не (?:готов|сдела|реализова
        |нача|трога|обновл|провер|добавл|напис|перенес)[^ ,.;]*, (?:ещё|еще) (?:нужно|надо|предстоит
        |предстоят), не (?:сделано|готово):, ещё впереди
    """,
    patience=r"""
        ^(?:пожалуйста(?:,)? )?(?:подождите|подожди|минутку|секунду|одну минуту)
    """,
    remarks=r"""
        ^(?:это|так|после этого|затем|потом|заодно)
    """,
)
UKRAINIAN: Final = Language(
    script=CYRILLIC,
    announces=r"""
        (?:зараз|тепер|далі|потім|спочатку|спершу|наразі)(?:,)? (?:я )?[^ ,.;]{2,}(?:аю|яю|істовую
        |ізую|люю|бую|тестую|жу|шу|щу|лю|ню|рю|еду|йду|юсь|юся|нусь|нуся|дам|їмо),
        ^(?:я )?[^ ,.;]{2,}(?:аю|яю|істовую|ізую|люю|бую|тестую|жу|шу|щу|лю|ню|рю|йду|юсь|юся),
        [^ ,.;]{2,}(?:аю|яю)[.!]*$, мені (?:треба|потрібно), (?:давайте|нумо) [^ ,.;]+(?:мо|м),
        наступний крок:, переходжу до, беруся за, я (?:зараз |тепер |спочатку )?(?:перевірю|виправлю
        |додам|запущу|оновлю|створю|напишу|подивлюсь)
    """,
    ends=r"""
        завершую, завершу, підсумую, підсумовую, надсилаю (?:відповідь|рішення), закінчую
    """,
    denies=r"""
        ^(?:[^,]* )?не, не [^ ,.;]+[юу], нічого, чекаю, чекатиму, раджу, рекомендую, пропоную,
        думаю, вважаю, сподіваюсь,
        сподіваюся, дякую, поясню, розумію, знаю, бажаю, бачу, врахую, можу, маю, ^якщо, ^коли
    """,
    requests=r"""
        будь ласка, повідомте, дайте знати, дай знати, скажіть, скажи, підтвердіть, підтвердь,
        уточніть, напишіть, напиши, чи (?:хочете|варто|потрібно|мені)
    """,
    offers=r"""
        якщо (?:ви|ти|хочете|хочеш|потрібно|згодні|підходить), можете, можеш, ви можете,
        коли (?:ви|ти|будете), вам (?:треба|потрібно)
    """,
    awaits=r"""
        чекаю (?:на )?(?:вашої|вашого|твоєї|твого|відповіді|вас), чекаю, очікую вашої
    """,
    runs=r"""
        (?:працює|працюють|виконується|виконуються|запущено|триває) (?:зараз |ще |досі )*[^ ,.;]
        фоні, (?:ще|досі|все ще) (?:працює|працюють|виконується|виконуються|триває),
        чекаю (?:завершення|результату|поки)
    """,
    bound=r"""
        коли, щойно, як тільки, після, по (?:завершенні|закінченні), потім
    """,
    left=r"""
        (?:залишилося|залишилось|лишилося|лишилось)(?: [^ ,.;]+)?:, залишилося [^ ,.;]+ти,
        (?:залишилося|залишилось) ще, залишилось [^ ,.;]+ти, ще не (?:готов|зробл|реаліз|почат|оновл
        |переві|додан)[^ ,.;]*, ще (?:треба|потрібно)
    """,
    remarks=r"""
        ^(?:це|так|після цього|потім)
    """,
)
_POLISH_FIRST: Final = "(?:[^ ,.;]+(?:ę|ę się)|[^ ,.;]{3,}(?:am|iem))"
POLISH: Final = Language(
    announces=rf"""
        (?:teraz|najpierw|następnie|potem|zaraz|dalej|od razu)(?:,)? (?:(?:się|to|je|go|ją
        |jeszcze) )*{_POLISH_FIRST}, pozostałe(?: [^ ,.;]+)? {_POLISH_FIRST},
        ^{_POLISH_FIRST} (?:teraz|najpierw|to|je|go|ją|się|jeszcze|plik|pliki|testy|kod|code),
        ^(?:sprawdz|popraw|uruchomi|zaktualizuj|napraw|napisz|przejd|zrobi|zacz|wprowadz|utworz
        |stworz|usun|dodaj|testuj|aktualizuj|kontynuuj)[^ ,.;]*ę, ^(?:sprawdzam|dodaję|dodam
        |uruchamiam|poprawiam|naprawiam|szukam|czytam|zmieniam|zaczynam|tworzę|usuwam|przenoszę
        |przechodzę|otwieram), muszę (?:jeszcze |teraz |najpierw )?[^ ,.;]+ć,
        pozwól(?: mi)?(?:,)? (?:że )?[^ ,.;]+, następny krok:, przechodzę do,
        (?:sprawdźmy|zacznijmy|zobaczmy|przejdźmy|dodajmy|uruchommy)
    """,
    ends=r"""
        kończę, zakończę, podsumuję, podsumowując, oddaję, przesyłam (?:odpowiedź|rozwiązanie)
    """,
    denies=r"""
        nie, nic, czekam, poczekam, wyjaśnię, myślę, sądzę, uważam, polecam, proponuję, zalecam,
        mam nadzieję, dziękuję, mogę, widzę, rozumiem, wiem, jestem, chcę, można, ^jeśli, ^jeżeli,
        ^gdy, ^kiedy
    """,
    requests=r"""
        daj znać, dajcie znać, proszę, powiedz, potwierdź, czy (?:chcesz|mam|mogę|chce), napisz
    """,
    offers=r"""
        jeśli (?:chcesz|chce|to|potrzebujesz|wszystko|się), możesz, możecie, może pan, musisz,
        gdy (?:potwierdzisz|będziesz|zechcesz), jak (?:potwierdzisz|będziesz)
    """,
    awaits=r"""
        czekam na (?:twoj|twój|pana|pani|odpowied|decyzj|potwierdzen)[^ ,.;]*, czekam
    """,
    runs=r"""
        (?:działa|działają|trwa|trwają|wykonuje się|uruchomiony|uruchomione)
        (?:teraz |nadal |wciąż )*w tle, (?:nadal|wciąż) (?:działa|działają|trwa|trwają),
        czekam(?:,)? aż, czekam na (?:zakończenie|wynik|wyniki|koniec)
    """,
    bound=r"""
        gdy, kiedy, jak tylko, po (?:zakończeniu|tym), potem, wtedy
    """,
    left=r"""
        (?:pozostało|pozostaje|zostało|zostaje)(?: jeszcze)?(?: do zrobienia)?:, (?:pozostało
        |pozostaje|zostało)(?: jeszcze| tylko)* [^ ,.;]+ć, do zrobienia(?: zostało)?:, jeszcze nie
        (?:zrobion|gotow|zaimplementowan|przetestowan|zaktualizowan)[^ ,.;]*,
        (?:brakuje|brak) jeszcze
    """,
    remarks=r"""
        ^(?:to|dzięki temu|potem|następnie|następny)
    """,
)
