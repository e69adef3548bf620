"""What six languages of western Europe say at the end of a turn."""

from __future__ import annotations

from typing import Final

from interlock.policy.stops.phrases import FEW, Language, one_of

_GERMAN_ACTS: Final = one_of("""
    führe, prüfe, schaue, starte, öffne, lese, schreibe, teste, erstelle, ändere, behebe, suche,
    ergänze, aktualisiere, installiere, entferne, ersetze, rufe, gehe, mache, füge, baue, passe,
    überprüfe, analysiere, untersuche, lade, lösche, implementiere, beginne, fange, kümmere,
    korrigiere, repariere, verschiebe, benenne, kopiere, übernehme, setze, stelle, sehe, richte,
    wechsle, hole, nehme, bereinige, vergleiche, wiederhole
""")
GERMAN: Final = Language(
    announces=rf"""
        ich werde, ich muss, ich will, lass mich, lassen sie mich, lass uns, wir müssen noch,
        ich {_GERMAN_ACTS}(?: (?:das|es|sie|ihn|mir|mich|dies))?
        (?:nun|jetzt|als nächstes|zuerst|dann|noch|kurz|erst|gleich|sofort|mir|mich),
        (?:jetzt|nun|als nächstes|zuerst|dann|zunächst|anschließend|danach)
        (?:werde|muss|{_GERMAN_ACTS}) (?:ich|wir),
        (?:schauen|sehen|prüfen|testen|öffnen) wir (?:uns|jetzt|nun|mal|das|die|den),
        ich (?:fange|beginne|starte) mit, ich [^ ,.;]+e (?:jetzt|nun|gleich|zuerst|als nächstes),
        (?:als nächstes|danach|jetzt|nun|dann)
        (?:kommt|kommen|folgt|folgen|steht|stehen|fehlt|fehlen),
        (?:der rest|die (?:übrigen|restlichen|anderen|nächsten)){FEW} folg(?:t|en),
        es fehl(?:t|en) (?:nur |jetzt )?noch, bleib(?:t|en) (?:nur |jetzt )?noch,
        ich lasse(?: (?:den|die|das|es|sie)(?: [^ ,.;]+)?)? (?:jetzt|nun|zuerst|gleich|kurz)
        (?:[^ ,.;]+ ){{0,4}}(?:durch)?laufen,
        (?:jetzt|nun|als nächstes|zuerst|dann|danach|anschließend) lasse ich{FEW} (?:durch)?laufen,
        nächster schritt:, ^(?:dann |also )?weiter (?:mit|geht|im), ich mache{FEW} weiter,
        ich fahre{FEW} fort,
        ich {_GERMAN_ACTS} (?:das|die|den|der|alle|beide|zuerst|es|sie|ihn),
        ich [^ ,.;]+e (?:das|die|den|alle|beide|es|sie|ihn|code)(?: [^ .;]+)*
        (?:nach|ein|um|aus|hinzu|zurück|zusammen|neu|erneut|wieder|nochmals?|noch einmal)[.:]?$,
        (?:die|das|den|es|sie|ihn|beide|alle) (?:{_GERMAN_ACTS}|[^ ,.;]+[^ ,.;bdt]e) ich
        (?:jetzt|nun|gleich|sofort|als nächstes),
        (?:jetzt|nun|als nächstes|zuerst|danach)(?: nur)?(?: noch)?
        (?:die|das|den|alle|einen|eine|ein|code|beide) (?:[^ .;:]+ )*[^ .;:]+en[.:]?$
    """,
    ends=r"""
        einreichen, ich reiche, abgeben, ich gebe, abschließen, ich schließe, beenden, ich beende,
        zusammenfassen, ich fasse, fasse ich, reiche ich, schließe ich, beende ich, gebe ich
    """,
    denies=r"""
        erklären, warten, warte, hinweisen, sagen, nicht, bitten, bitte, merken, empfehlen, freuen,
        nichts, ich (?:habe|hätte|würde|denke|glaube|finde|bleibe|meine|hoffe|empfehle|sehe keine)
    """,
    requests=r"""
        soll ich, sollen wir, möchtest du, möchten sie, sag mir, sagen sie mir,
        gib mir bescheid, gib bescheid, geben sie mir bescheid, geben sie bescheid, melde dich,
        melden sie sich, bitte, sag bescheid, sagt bescheid, sagen sie bescheid,
        sag kurz bescheid, sag mir bescheid,
        ich brauche (?:noch )?(?:dein|deine|deinen|ihr|ihre|ihren|von dir|von ihnen)
    """,
    offers=r"""
        wenn du, wenn sie, falls du, falls sie, sobald du, sobald sie, du kannst, sie können,
        du musst, sie müssen
    """,
    awaits=r"""
        ich warte auf (?:deine|ihre|dein|ihr|dich|sie|eure), ich warte, warte auf deine,
        warte auf ihre
    """,
    runs=rf"""
        (?:ich lasse|lasse ich|wir lassen|lassen wir){FEW}
        (?:im hintergrund (?:weiter ?)?laufen|weiter ?laufen),
        (?:läuft|laufen|lädt|baut) (?:jetzt |nun |noch |gerade |weiter |derzeit )*im hintergrund,
        (?:läuft|laufen) (?:gerade |derzeit )?(?:noch|weiterhin)(?: immer)?,
        im hintergrund gestartet,
        warte(?:n)? auf (?:das ende|den build|die tests|das ergebnis|den lauf|den abschluss),
        warte(?:n)?\x2c? bis (?:der|die|das|es|er|sie)
    """,
)
FRENCH: Final = Language(
    announces=r"""
        je vais, je dois, je m'en occupe, je m'y mets, il me reste (?:encore |juste )?à,
        ^(?:puis )?je (?:continue|poursuis|reprends) (?:avec|sur|par|le|la|les),
        laissez-moi, laisse-moi, passons (?:maintenant |ensuite )?(?:à|au|aux),
        il me faut, prochaine étape ?:, (?:il )?reste (?:encore |maintenant )?(?:à|deux|trois),
        (?:place|au tour) (?:à|au|aux|de|du|des), je [^ ,.;]+[eéi]rai, ^en cours ?:,
 je passe (?:maintenant |ensuite )?(?:à|au|aux),
        je (?:lance|vérifie|corrige|lis|ouvre|teste|crée|modifie|ajoute|supprime|exécute|cherche
        |commence|installe|remplace|relance|regarde|mets à jour|continue)
        (?:(?:ça|cela|ceci|(?:le|la|les|un|une|ce|cette|ces) [^ ,.]+) )?(?:maintenant|ensuite
        |d'abord|alors|donc|tout de suite|immédiatement),
        (?:^| )je (?:le |la |les |l')?(?:lance|vérifie|corrige|lis|ouvre|teste|crée|modifie
        |ajoute|supprime|exécute|cherche|commence|installe|remplace|relance|regarde|mets à jour),
        (?:maintenant|ensuite|d'abord|puis)(?:,)? je
        (?:lance|vérifie|corrige|lis|ouvre|teste|crée|modifie|ajoute|supprime|exécute|cherche
        |commence|installe|remplace|relance|regarde|mets à jour|continue)
    """,
    ends=r"""
        soumettre, je soumets, rendre, je rends, remettre, je remets, conclure, je conclus,
        terminer,
        je termine, finaliser, je finalise, résumer, je résume, clore, récapituler
    """,
    denies=r"""
        expliquer, attendre, attends, pas, préciser, rien, je (?:serai|aurai|pourrai|resterai)
    """,
    requests=r"""
        voulez-vous, veux-tu, souhaitez-vous, souhaites-tu, dois-je, dites-moi, dis-moi,
        faites-moi savoir, fais-moi savoir, n'hésitez pas, n'hésite pas, veuillez,
        s'il te plaît, s'il vous plaît,
        j'ai besoin (?:de votre|de ton|de ta|de vos|que vous|que tu),
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
        je (?:(?:le|la|les) )?(?:laisse|laisserai|vais laisser){FEW} (?:tourner|s'exécuter){FEW}
        en arrière-plan,
        (?:tourne|tournent|s'exécute|s'exécutent|est en cours|sont en cours)
        (?:toujours |encore |maintenant |actuellement )*(?:en arrière-plan|d'exécution),
        (?:tourne|tournent) (?:toujours|encore), (?:lancé|lancée|lancés|lancées) en arrière-plan,
        attends (?:la fin|que le|que la|que les|qu'il|qu'elle|qu'ils|le résultat|les résultats),
        attendre (?:la fin|que le|que la|que les)
    """,
)
SPANISH: Final = Language(
    announces=r"""
        voy a, voy con, vamos a, déjame, déjeme, permíteme, permítame, tengo que, debo, procedo a,
        procederé a,
        necesito (?:ejecutar|revisar|verificar|comprobar|corregir|crear|modificar|leer|abrir|probar
        |añadir|agregar|actualizar|instalar|buscar|ver),
        (?:ahora|primero|luego|después|a continuación)(?:,)?
        (?:ejecuto|reviso|verifico|compruebo|corrijo|creo|modifico|leo|abro|pruebo|añado|agrego
        |actualizo|instalo|busco|ejecutaré|revisaré|verificaré|comprobaré|corregiré|crearé
        |modificaré|leeré|abriré|probaré|añadiré|agregaré|actualizaré|instalaré|buscaré),
        siguiente paso:, lo hago, ahora (?:toca|tocan|falta|faltan|viene|vienen|sigue|le toca),
        (?:falta|faltan|queda|quedan) (?:por|solo|aún|todavía), (?:solo|aún|todavía) faltan?,
        ^(?:ahora )?(?:empezando|comenzando|empiezo|comienzo|pasando|paso) (?:por|con|a|al),
        ^(?:ahora |luego |después |lo |la )?[^ ,.;]+(?:aré|eré|iré), lo siguiente es,
        ^(?:ahora )?(?:sigo|continúo|prosigo|seguimos) con,
        ^(?:lo |la |los |las |y )?(?:ejecuto|reviso|verifico|compruebo|corrijo|modifico|leo|abro
        |pruebo|añado|agrego|actualizo|instalo|busco|elimino|cambio|ajusto|arreglo|vuelvo a)
    """,
    ends=r"""
        enviar (?:la|mi) (?:respuesta|solución), entregar, entrego, concluir, concluyo, terminar,
        termino, finalizar, finalizo, resumir, cerrar la tarea, dar por,
        presentar la (?:respuesta|solución)
    """,
    denies=r"""
        explicar, esperar, espero, nada, estaré, seré, quedaré, tendré,
        no (?:voy|vamos|tengo|debo|necesito|procedo|es|hace|hay|se|lo|la
        |los|las|me|nos|puedo|podemos|está|están|ha|he|hemos|quiero|modifico|cambio)
    """,
    requests=r"""
        quieres que, quiere que, deseas que, desea que, dígame, dime, avísame, avíseme,
        hazme saber, hágame saber, por favor, necesito que, necesito tu, necesito su
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
        (?:dejo|dejaré|dejamos|voy a dejar){FEW}
        (?:ejecutándose|corriendo|en ejecución|ejecute|ejecuten|corra|corran) en segundo plano,
        (?:se está ejecutando|se están ejecutando|sigue ejecutándose|siguen ejecutándose
        |está corriendo|están corriendo|corre|corren|se ejecuta|se ejecutan)
        (?:ahora |aún |todavía )*en segundo plano,
        (?:sigue|siguen) (?:ejecutándose|corriendo|en ejecución|en curso),
        (?:iniciado|iniciada|lanzado|lanzada) en segundo plano,
        (?:espero|esperar|esperaré) (?:a que|el resultado|los resultados)
    """,
)
PORTUGUESE: Final = Language(
    announces=r"""
        vou (?:executar|rodar|verificar|checar|corrigir|criar|modificar|ler|abrir|testar|adicionar
        |atualizar|instalar|buscar|procurar|começar|iniciar|analisar|remover|ajustar|implementar
        |continuar|fazer|agora|primeiro|então|usar|escrever|olhar|ver|revisar|configurar),
        deixe-me, deixa eu, vamos (?:executar|rodar|verificar|corrigir|criar|testar|adicionar
        |atualizar|instalar|começar|continuar|analisar|remover|implementar|ver),
        preciso (?:executar|rodar|verificar|checar|corrigir|criar|modificar|ler|abrir|testar
        |adicionar|atualizar|instalar|buscar|ver), tenho que, em seguida(?:,)? vou,
        (?:agora|primeiro|depois)(?:,)? (?:executo|verifico|corrijo|crio|testo|adiciono|vou),
        próximo passo:, (?:falta|faltam|resta|restam) (?:só|apenas|ainda), (?:só|ainda) faltam?,
        ^(?:agora )?(?:começando|começo|passando|passo) (?:por|pelo|pela|com|para), agora é a vez,
        ^(?:agora |depois |então )?[^ ,.;]+(?:arei|erei|irei),
        faço (?:isso|isto|já), cuido disso, ^(?:agora )?(?:sigo|continuo|prossigo) (?:com|para),
        vamos (?:ao|à|aos|às|para o|para a) (?:próxim|segund|terceir)[oa]s?,
        ^(?:executo|verifico|corrijo|testo|adiciono|atualizo|removo|ajusto|reviso|altero)
    """,
    ends=r"""
        enviar (?:a|minha) (?:resposta|solução), submeter, entregar, concluir, finalizar, encerrar,
        terminar, resumir
    """,
    denies=r"""
        explicar, esperar, aguardar, não, nada, serei, estarei, terei, ficarei
    """,
    requests=r"""
        quer que, gostaria que, me avise, avise-me, me diga, diga-me, por favor, preciso que,
        preciso da sua, preciso do seu
    """,
    offers=r"""
        se quiser, se precisar, se você, você pode, você precisa, você deve, quando quiser
    """,
    awaits=r"""
        aguardo (?:sua|seu|suas|seus|o seu|a sua), fico no aguardo, aguardando sua,
        aguardando seu, aguardo
    """,
    runs=rf"""
        (?:deixo|deixarei|deixamos|vou deixar){FEW}
        (?:rodando|executando|em execução|rodar) em segundo plano,
        (?:está rodando|estão rodando|está executando|está sendo executado|está em execução
        |continua rodando|continuam rodando|roda|rodam) (?:agora |ainda )*em segundo plano,
        (?:continua|continuam|ainda está|ainda estão) (?:rodando|executando|em execução
        |em andamento),
        (?:iniciado|iniciada) em segundo plano,
        (?:aguardar|aguardo|esperar|espero) (?:o término|a conclusão|o resultado|que o|que a)
    """,
)
ITALIAN: Final = Language(
    announces=r"""
        ^(?:ora )?(?:continuo|proseguo) con, ^passo (?:ora )?(?:al|alla|ai|alle),
        lasciami, mi lasci, procedo a, procedo con, devo ora, devo ancora, ora devo, sto per,
        (?:ora|adesso|poi|prima|quindi|successivamente)(?:,)?
        (?:eseguo|verifico|controllo|correggo|creo|modifico|leggo|apro|provo|aggiungo|aggiorno
        |installo|cerco|avvio|lancio|passo|eseguirò|verificherò|controllerò|correggerò|creerò),
        vado a, (?:eseguirò|verificherò|controllerò|correggerò|creerò|modificherò|leggerò|aprirò
        |proverò|aggiungerò|aggiornerò|installerò|cercherò|avvierò),
        (?:manca|mancano|resta|restano) (?:ancora|solo|da), ora tocca,
        ^(?:ora )?(?:comincio|inizio|cominciando|iniziando|parto|passo) (?:da|dal|dalla|con|a|ai),
        ^(?:ora |poi |lo |la )?[^ ,.;]+[ei]rò,
        ^(?:lo |la |li |le )?(?:eseguo|verifico|correggo|modifico|leggo|apro|aggiungo|aggiorno
        |installo)
    """,
    ends=r"""
        inviare la (?:risposta|soluzione), invio la (?:risposta|soluzione), consegnare, consegno,
        concludere, concludo, terminare, termino, finalizzare, riassumere, riassumo
    """,
    denies=r"""
        spiegare, aspettare, attendere, attendo, non, niente, nulla, sarò, avrò, potrò
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
        in attesa di una tua,
        attendo
    """,
    runs=rf"""
        (?:lascio|lascerò|lasciamo){FEW} (?:in esecuzione|girare|andare){FEW} in background,
        (?:è in esecuzione|sono in esecuzione|gira|girano|sta girando|stanno girando)
        (?:ora |ancora |adesso )*in background,
        (?:è ancora|sono ancora) in (?:esecuzione|corso), (?:avviato|avviata) in background,
        (?:attendo|aspetto|attendere|aspettare) (?:che|la fine|il risultato|il completamento)
    """,
)
DUTCH: Final = Language(
    announces=r"""
        ik ga, nu nog, rest nog, daarna (?:de|het), volgende stap:,
        nu (?:is|zijn|komt|komen) (?:de|het),
        ik (?:begin|start|werk|pas|maak|controleer|test|voeg|draai)
        (?:nu|eerst|met|de|het|dit|dat|verder), ik zal nu, ik zal eerst, ik zal de, ik zal het,
        ik moet nog, ik moet nu, laat me
        (?:eerst|nu|de|het|even|dit|dat|dan|kijken|controleren|testen|beginnen),
        (?:nu|eerst|daarna|vervolgens|dan) (?:voer|controleer|start|open|lees|schrijf|test|maak
        |wijzig|zoek|installeer|verwijder|ga|pas|voeg|werk|bekijk) ik
    """,
    ends=r"""
        indienen, ik dien, inleveren, ik lever, afronden, ik rond, afsluiten, ik sluit, samenvatten,
        ik vat, beëindigen, dien ik, lever ik, rond ik, sluit ik
    """,
    denies=r"""
        uitleggen, wachten, wacht, niet, weten
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
        (?:ik laat|laat ik){FEW}
        (?:op de achtergrond (?:door)?(?:draaien|lopen)|doorlopen|doordraaien),
        (?:draait|draaien|loopt|lopen) (?:nu |nog |steeds |momenteel )*op de achtergrond,
        (?:draait|draaien|loopt|lopen) nog(?: steeds)?, op de achtergrond gestart,
        wacht(?:en)? (?:tot (?:de|het)|op het resultaat|op de build|op de tests)
    """,
)
