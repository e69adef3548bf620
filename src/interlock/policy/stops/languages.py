"""How languages other than English announce an act, end, hand over and wait.

Each language has its own closed lists: the words that announce, the acts that may follow them,
and what is said of the past, of the person or of the end instead. What is missing here costs an
announcement that is overlooked; a question is recognised by its mark in every script.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import msgspec

from interlock.policy.stops.phrases import Signs, one_of


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """What a language says, as lists of phrases; a phrase may be a pattern."""

    announces: str
    """Whoever writes it does something next, whatever the act is."""
    ends: str
    """It submits, concludes or sums up: no act follows."""
    denies: str
    """What is announced is no act: it is denied, past, waited for or only said."""
    requests: str
    """It asks the person for something: their move, whatever is said behind it."""
    offers: str
    """It says what the person can or must do, or may want."""
    awaits: str
    """It waits for the person."""
    runs: str
    """Something goes on by itself, and its end is waited for."""
    has_blanks: bool = True


_FEW: Final = r"(?: [^ ,.;]+){0,5}"
"""A few words of the same clause, between a verb and what belongs to it."""
_GERMAN_ACTS: Final = one_of("""
    führe, prüfe, schaue, starte, öffne, lese, schreibe, teste, erstelle, ändere, behebe, suche,
    ergänze, aktualisiere, installiere, entferne, ersetze, rufe, gehe, mache, füge, baue, passe,
    überprüfe, analysiere, untersuche, lade, lösche, implementiere, beginne, fange, kümmere,
    korrigiere, repariere, verschiebe, benenne, kopiere, übernehme, setze, stelle, sehe, richte,
    wechsle, hole, nehme, bereinige, vergleiche, wiederhole
""")
_GERMAN: Final = Language(
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
        (?:der rest|die (?:übrigen|restlichen|anderen|nächsten)){_FEW} folg(?:t|en),
        es fehl(?:t|en) (?:nur |jetzt )?noch, bleib(?:t|en) (?:nur |jetzt )?noch,
        ich lasse(?: (?:den|die|das|es|sie)(?: [^ ,.;]+)?)? (?:jetzt|nun|zuerst|gleich|kurz)
        (?:[^ ,.;]+ ){{0,4}}(?:durch)?laufen,
        (?:jetzt|nun|als nächstes|zuerst|dann|danach|anschließend) lasse ich{_FEW} (?:durch)?laufen,
        nächster schritt:, ^(?:dann |also )?weiter (?:mit|geht|im), ich mache{_FEW} weiter,
        ich fahre{_FEW} fort,
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
        (?:ich lasse|lasse ich|wir lassen|lassen wir){_FEW}
        (?:im hintergrund (?:weiter ?)?laufen|weiter ?laufen),
        (?:läuft|laufen|lädt|baut) (?:jetzt |nun |noch |gerade |weiter |derzeit )*im hintergrund,
        (?:läuft|laufen) (?:gerade |derzeit )?(?:noch|weiterhin)(?: immer)?,
        im hintergrund gestartet,
        warte(?:n)? auf (?:das ende|den build|die tests|das ergebnis|den lauf|den abschluss),
        warte(?:n)?\x2c? bis (?:der|die|das|es|er|sie)
    """,
)
_FRENCH: Final = Language(
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
        je (?:(?:le|la|les) )?(?:laisse|laisserai|vais laisser){_FEW} (?:tourner|s'exécuter){_FEW}
        en arrière-plan,
        (?:tourne|tournent|s'exécute|s'exécutent|est en cours|sont en cours)
        (?:toujours |encore |maintenant |actuellement )*(?:en arrière-plan|d'exécution),
        (?:tourne|tournent) (?:toujours|encore), (?:lancé|lancée|lancés|lancées) en arrière-plan,
        attends (?:la fin|que le|que la|que les|qu'il|qu'elle|qu'ils|le résultat|les résultats),
        attendre (?:la fin|que le|que la|que les)
    """,
)
_SPANISH: Final = Language(
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
        (?:dejo|dejaré|dejamos|voy a dejar){_FEW}
        (?:ejecutándose|corriendo|en ejecución|ejecute|ejecuten|corra|corran) en segundo plano,
        (?:se está ejecutando|se están ejecutando|sigue ejecutándose|siguen ejecutándose
        |está corriendo|están corriendo|corre|corren|se ejecuta|se ejecutan)
        (?:ahora |aún |todavía )*en segundo plano,
        (?:sigue|siguen) (?:ejecutándose|corriendo|en ejecución|en curso),
        (?:iniciado|iniciada|lanzado|lanzada) en segundo plano,
        (?:espero|esperar|esperaré) (?:a que|el resultado|los resultados)
    """,
)
_PORTUGUESE: Final = Language(
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
        (?:deixo|deixarei|deixamos|vou deixar){_FEW}
        (?:rodando|executando|em execução|rodar) em segundo plano,
        (?:está rodando|estão rodando|está executando|está sendo executado|está em execução
        |continua rodando|continuam rodando|roda|rodam) (?:agora |ainda )*em segundo plano,
        (?:continua|continuam|ainda está|ainda estão) (?:rodando|executando|em execução
        |em andamento),
        (?:iniciado|iniciada) em segundo plano,
        (?:aguardar|aguardo|esperar|espero) (?:o término|a conclusão|o resultado|que o|que a)
    """,
)
_ITALIAN: Final = Language(
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
        (?:lascio|lascerò|lasciamo){_FEW} (?:in esecuzione|girare|andare){_FEW} in background,
        (?:è in esecuzione|sono in esecuzione|gira|girano|sta girando|stanno girando)
        (?:ora |ancora |adesso )*in background,
        (?:è ancora|sono ancora) in (?:esecuzione|corso), (?:avviato|avviata) in background,
        (?:attendo|aspetto|attendere|aspettare) (?:che|la fine|il risultato|il completamento)
    """,
)
_DUTCH: Final = Language(
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
        (?:ik laat|laat ik){_FEW}
        (?:op de achtergrond (?:door)?(?:draaien|lopen)|doorlopen|doordraaien),
        (?:draait|draaien|loopt|lopen) (?:nu |nog |steeds |momenteel )*op de achtergrond,
        (?:draait|draaien|loopt|lopen) nog(?: steeds)?, op de achtergrond gestart,
        wacht(?:en)? (?:tot (?:de|het)|op het resultaat|op de build|op de tests)
    """,
)
_RUSSIAN_ACTS: Final = one_of("""
    запущу, проверю, исправлю, добавлю, создам, открою, прочитаю, посмотрю, изменю, обновлю,
    установлю, найду, напишу, удалю, перейду, начну, сделаю, выполню, протестирую, попробую,
    изучу, поищу, внесу, заменю, перезапущу, продолжу
""")
_RUSSIAN: Final = Language(
    announces=rf"""
        (?:сейчас|теперь|далее|затем|сначала|потом)(?:,)? (?:я )?{_RUSSIAN_ACTS},
        я (?:сейчас |теперь |сначала |также )?{_RUSSIAN_ACTS},
        мне нужно, мне надо, давайте (?:я )?(?:проверим|запустим|исправим|посмотрим|добавим
        |создадим|откроем|начнём|начнем|{_RUSSIAN_ACTS}), {_RUSSIAN_ACTS} (?:сейчас|теперь),
        я (?:сейчас )?буду, на очереди, следующий шаг:, очередь за,
        (?:осталось|остаётся) (?:только |лишь )?[^ ,.;]+(?:ть|ти|чь|ться),
        ^(?:теперь |сейчас |затем )?[^ ,.;]{{2,}}(?:аю|яю|ую|жу|шу|щу|лю|ню|рю|еду|йду|юсь|нусь),
        перехожу к, приступаю к, ^{_RUSSIAN_ACTS},
        ^(?:исправляю|проверяю|запускаю|добавляю|обновляю|ищу|смотрю|читаю|пишу|создаю|удаляю
        |устанавливаю|тестирую|меняю|начинаю|продолжаю|открываю|переношу|собираю|изучаю)
    """,
    ends=r"""
        отправлю (?:решение|ответ|результат), отправить (?:решение|ответ|результат), сдам, сдать,
        завершу, завершить, завершаю, закончу, закончить, подведу, подвести, подытожу
    """,
    denies=r"""
        объясню, объяснить, подожду, ждать, подождать, не, ничего, рекомендую, советую, предлагаю,
        думаю, считаю, надеюсь, полагаю, благодарю
    """,
    requests=r"""
        сообщите, сообщи, дайте знать, дай знать, пожалуйста, скажите, мне нужен ваш,
        мне нужна ваша, пришлите, пришли, подтвердите, подтверди, уточните
    """,
    offers=r"""
        если вы, если нужно, если хотите, если ты, вы можете, ты можешь, можете, вам нужно,
        тебе нужно
    """,
    awaits=r"""
        жду (?:вашего|вашей|твоего|твоей|ваш|вас|ответа), жду, буду ждать вашего,
        буду ждать твоего, ожидаю вашего, ожидаю ответа
    """,
    runs=rf"""
        (?:оставляю|оставлю|оставляем){_FEW} (?:в фоне|в фоновом режиме),
        (?:работает|работают|выполняется|выполняются|запущен|запущена|запущены|идёт|идет|собирается)
        (?:сейчас |теперь |всё ещё |все еще |ещё |еще )*(?:в фоне|в фоновом режиме),
        (?:всё ещё|все еще|ещё|еще) (?:работает|работают|выполняется|выполняются|идёт|идет),
        (?:жду|подожду|ожидаю|дождусь) (?:завершения|окончания|результата|результатов|пока)
    """,
)
_CHINESE: Final = Language(
    announces=r"""
        让我(?:们)?(?:先|来|再|现在|继续|看|检|运|修|查|执|打|读|写|创|更|添|测|开|试|分|搜|重|进
        |处|把|用|确|验),
        我(?:来|先|再|这就|马上|接着)(?:看|检|运|修|查|执|打|读|写|创|更|添|测|开|试|分|搜|重|进|处
        |把|用|确|验|继),
        我(?:将|会|要|需要|现在要|现在来|现在将|现在就|现在去|接下来)(?:先|再|去|来|继续)?
        (?:看|检|运|修|查|执|打|读|写|创|更|添|测|开始|试|分析|搜|重|进行|处理|把|使用|确认|验证
        |安装|删|调|实现|继续|编),
        (?:接下来|现在|然后|下一步|首先)\x{ff0c}?(?:我|我们|让我)?(?:将|会|要|需要|来|先|就)?
        (?:看|检查|运行|修改|修复|查看|执行|打开|读取|编写|创建|更新|添加|测试|开始|尝试|分析|搜索
        |重新|进行|处理|确认|验证|安装|删除|调整|实现|继续),
        讓我(?:先|來|再|檢|看|執|修|查|測|開|繼), 我(?:將|會|來)(?:檢|看|執|修|查|測|開|繼|運),
        接下來(?:我)?(?:將|會|要)?(?:檢|看|執|修|查|測|開|繼|運),
        我(?:这就|马上|立刻|接着|继续)[^等。],
        ^(?:好的\x{ff0c})?(?:接着|继续)(?:处理|检查|修|查|看|排查|写|改|测|运行|执行|分析|实现|添加|下一),
        ^(?:好的\x{ff0c})?(?:我)?先(?:看|查|检查|查看|读|跑|确认|试|了解|分析)(?:一下|下|看),
        先从[^。]{1,20}开始, (?:接下来|然后|下一个|下一步|现在)(?:就)?(?:是|轮到), 轮到,
        (?:还剩|还差|只剩|剩下)[^。]{0,20}[^了。][。]?$, ^正在[^。后]{1,30}[。…]*$,
        ^(?:好的\x{ff0c})?(?:现在|下面)?开始(?:检|运|修|查|执|读|写|创|更|添|测|分析|实现|处理|重)
    """,
    ends=r"""
        提交(?:答案|最终|结果|我的|方案|解决方案|解答), 结束(?:任务|对话|工作|本), 总结, 完成任务,
        收尾, 交付, 總結, 結束
    """,
    denies=r"""
        等待, 等您, 等你, 解释, 不会, 不再, 已, 了。, 不
    """,
    requests=r"""
        吗[。.]?$, 呢[。.]?$, 是否, 请确认, 请告诉, 请告知, 请提供, 请选择, 请回复, 请问, 请随时,
        请审, 需要我, 您想, 你想, 您希望, 你希望,
        請確認, 請告訴, 请您, 请你, 告诉我, 请发, 请把, 麻烦您, 麻烦你
    """,
    offers=r"""
        如果您, 如果你, 如需, 若您, 您可以, 你可以, 您需要, 你需要
    """,
    awaits=r"""
        等待您, 等待你, 等您, 等你, 我会等, 我等, 期待您, 等候您
    """,
    runs=r"""
        (?:正在|仍在|还在|在)后台(?:继续|持续)?(?:运行|执行|构建|进行|跑),
        后台(?:运行|执行)(?:中|着),
        (?:仍在|还在|正在)(?:运行|执行|构建)(?:中)?[。,.]?,
        等待(?:构建|测试|任务|运行|它|其|结果|编译|部署)
    """,
    has_blanks=False,
)
_JAPANESE_ACT: Final = one_of("""
    実行, 確認, 修正, 追加, 作成, 更新, 調査, 検索, テスト, 実装, インストール, 変更, 削除,
    読み込み,
    ビルド, 起動, 検証, 分析, 対応, 開始, 着手, 有効化, 導入, 設定, 調整, 移動, 続行, 再実行
""")
_JAPANESE: Final = Language(
    announces=rf"""
        (?:次に|次は|これから|今から|まず|まずは|では|それでは|続いて|続けて|引き続き
        |さっそく)[^。]{{0,60}}
        (?:{_JAPANESE_ACT}(?:を)?(?:します|する|いたします|していきます|してみます|していく|するで
        |するわ|しよか)
        |見てみます|見ていきます|直します|調べます|開きます|読みます|書きます|進めます|進みます
        |始めます|移ります),
        {_JAPANESE_ACT}(?:を)?(?:してみます|していきます|していくで|するで|するわ|しましょう
        |してみましょう),
        (?:次は|あとは|残りは)[^。]{{1,30}}(?:です|だけです|のみです)。?$,
        (?:やり|直し|試し|調べ|見|続け|進め)ます(?:ね|よ)?。?$,
        [てで]、[^はがばと時際]{{0,20}}{_JAPANESE_ACT}します。?$,
        (?:見て|直して|調べて|開いて|読んで|書いて|進めて|試して|やって|して|続けて)(?:みます|いきます|みましょう
        |いきましょう),
        ^[^はがばと時際]{{0,60}}(?:に|へ)(?:進み|移り|取り掛かり|取りかかり)ます[。:]?$,
        ^[^はがばと時際]{{0,60}}(?:を|から){_JAPANESE_ACT}(?:します|いたします)[。:]?$
    """,
    ends=r"""
        提出(?:します|する|いたします), 終了(?:します|する|いたします), 終わります, 完了とします,
        まとめます, 要約
    """,
    denies=r"""
        説明します, 待ちます, 待って, ません, ました, 自動, に従って, (?:し|っ)たら, まとめて
    """,
    requests=r"""
        ください, でしょうか, ますか, ですか, ええか, 教えて, お願いします,
        指示し, 言うて, 言って, 何を, てくれ, いただけますか
    """,
    offers=r"""
        場合は, よければ, よろしければ, できます
    """,
    awaits=r"""
        お待ちして, ご連絡を待, 返信を待, 待っています, 待ってます
    """,
    runs=r"""
        バックグラウンドで(?:実行|動作|ビルド|稼働|動いて|走って|動かして|走らせて|回して),
        (?:実行中|ビルド中|処理中)です,
        まだ(?:実行|動作|ビルド)中, (?:完了|終了|終わる)(?:する)?(?:の)?(?:を|まで)待ち
    """,
    has_blanks=False,
)
_KOREAN: Final = Language(
    announces=r"""
        (?:실행|확인|수정|추가|생성|업데이트|조사|검색|테스트|구현|설치|변경|삭제|시작|진행|분석
        |검토|점검
        |작성|빌드|적용|처리|이동|계속|재실행|검증|리팩터링)(?:을|를)?
        (?: )?(?:하겠습니다|해 ?보겠습니다|할게요|해볼게요|합니다 지금|하도록 하겠습니다
        |해 나가겠습니다),
        (?:살펴|찾아|고쳐|읽어|열어|돌려|알아)(?: )?(?:보겠습니다|볼게요), 차례입니다, 남았습니다,
        (?:이제|다음으로|먼저|우선|그럼|바로)[^.]{1,60}(?:겠습니다|게요), ^다음은 [^.]{1,30}입니다
    """,
    ends=r"""
        제출, 마치겠습니다, 마무리, 종료하겠, 끝내, 요약
    """,
    denies=r"""
        설명, 기다리, 않, 감사, 도와드리
    """,
    requests=r"""
        해 ?주세요, 알려, 습니까, 할까요, 하시겠, 하세요, 주시면, 말씀해
    """,
    offers=r"""
        원하시면, 필요하시면, 수 있습니다
    """,
    awaits=r"""
        기다리겠습니다, 기다릴게요, 답변을 기다, 기다리고 있습니다
    """,
    runs=r"""
        백그라운드에서 (?:계속 )?(?:실행|빌드|진행|동작|돌아|돌려), 아직 (?:실행|빌드|진행) 중,
        (?:실행|빌드) 중입니다,
        (?:끝날|완료될|종료될) 때까지
    """,
    has_blanks=False,
)

_ALL: Final = (
    _GERMAN, _FRENCH, _SPANISH, _PORTUGUESE, _ITALIAN, _DUTCH, _RUSSIAN, _CHINESE, _JAPANESE,
    _KOREAN,
)  # fmt: skip


_SEPARATOR: Final = re.compile(r",\s+")
_BREAK: Final = re.compile(r"\s*\n\s*")
_BEFORE_A_CHOICE: Final = re.compile(r"\s*\n\s*(?=\|)")
OTHER_LETTER: Final = re.compile(r"[\u00c0-\u1fff\u2e80-\ud7ff]")
_BEFORE_A_WORD: Final = r"(?:^|[\s,.;:!?()\"'\x{2010}-\x{2026}\x{a1}\x{ab}\x{bf}])"
_BEHIND_A_WORD: Final = r"(?:$|[\s,.;:!?()\"'\x{2010}-\x{2026}\x{bb}])"


def _choices(text: str, between_lines: str) -> str:
    """Return a pattern for any phrase of a list; a longer one may go on in the next line."""
    phrases = [_BEFORE_A_CHOICE.sub("", each) for each in _SEPARATOR.split(text.strip(" ,\n"))]
    return "|".join([_BREAK.sub(between_lines, each) for each in phrases])


_MARKERS: Final = frozenset(
    """
    ich wir du sie bitte jetzt nun soll sollen lass der die das den dem ist und alle als sag gib
    je vous tu les le la des est dites dis dois ensuite voulez veux souhaitez passons
    voy vamos lo o los las el en una puedes puede dime espero quedo quieres tengo debo necesito
    ahora vou os as um uma em agora preciso aguardo fico quer gostaria me deixe deixa deixo
    ora adesso procedo attendo resto lasciami vuoi vuole puoi devi devo il gli fammi sto vado
    è sono ancora non un per di al lascio ik de het een op nog nu laat zal wil wacht daarna
    vervolgens
    """.split()
)
"""Words that stand in nearly every sentence of a language that needs no other signs."""


@lru_cache(maxsize=8)
def _is_other(plain: str) -> bool:
    """Tell whether a sentence may be in one of these languages: most are English."""
    if OTHER_LETTER.search(plain):
        return True
    words = plain.rstrip(".!?: ").replace("-", " ").replace("'", " ").replace(",", " ")
    return not _MARKERS.isdisjoint(words.split())


_SIGNS: Final = Signs()


class _Said:
    """Finds what any of the languages says."""

    def __init__(self, part: Callable[[Language], str]) -> None:
        words = "|".join([_choices(part(each), " ") for each in _ALL if each.has_blanks])
        signs = "|".join([_choices(part(each), "") for each in _ALL if not each.has_blanks])
        self._sign = _SIGNS.add(f"{_BEFORE_A_WORD}(?:{words}){_BEHIND_A_WORD}|{signs}")

    def __call__(self, plain: str) -> bool:
        # In this order: English sentences need not be looked through for the signs of all others.
        return _is_other(plain) and self._sign.is_in(plain)


_announces: Final = _Said(lambda each: each.announces)
_denies: Final = _Said(lambda each: each.denies)
announces_its_end: Final = _Said(lambda each: each.ends)
requests: Final = _Said(lambda each: each.requests)
_offers: Final = _Said(lambda each: each.offers)
awaits_the_person: Final = _Said(lambda each: each.awaits)
runs_by_itself: Final = _Said(lambda each: each.runs)


def hands_over(plain: str) -> bool:
    """Tell whether a sentence leaves the next move to the person."""
    return requests(plain) or _offers(plain)


def announces_an_act(plain: str) -> bool:
    """Tell whether a sentence announces an act of its writer, in a language other than English."""
    return _announces(plain) and not (
        announces_its_end(plain) or _denies(plain) or hands_over(plain)
    )
