"""Texts that explain why an answer is right, in English and German. Part of `make`, run by hand."""

from dataclasses import dataclass

Reasons = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Noun:
    """What a thing is called: with and without article in English, in three cases in German."""

    a: str
    the: str
    ein: str
    die: str  # accusative
    der: str  # genitive
    bird: bool = True


GULL = Noun("a gull", "the gull", "eine Möwe", "die Möwe", "der Möwe")
HERON = Noun("a heron", "the heron", "ein Reiher", "den Reiher", "des Reihers")
EGRET = Noun("an egret", "the egret", "ein Silberreiher", "den Silberreiher", "des Silberreihers")
PELICAN = Noun("a pelican", "the pelican", "ein Pelikan", "den Pelikan", "des Pelikans")
FRIGATE = Noun("a frigatebird", "the frigatebird", "ein Fregattvogel", "den Fregattvogel", "des Fregattvogels")
SWALLOW = Noun("a swallow", "the swallow", "eine Schwalbe", "die Schwalbe", "der Schwalbe")
ROLLER = Noun("a roller", "the roller", "eine Racke", "die Racke", "der Racke")
PARROT = Noun("a parrot", "the parrot", "ein Papagei", "den Papagei", "des Papageis")
PUFFIN = Noun("a puffin", "the puffin", "ein Papageitaucher", "den Papageitaucher", "des Papageitauchers")
DUCK = Noun("a toy duck", "the duck", "eine Badeente", "die Badeente", "der Badeente")
OWL = Noun("a stuffed toy owl", "the owl", "eine Stoffeule", "die Stoffeule", "der Stoffeule")
CRANE = Noun("a paper crane", "the paper crane", "ein Papierkranich", "den Papierkranich", "des Papierkranichs")
BICYCLE = Noun("a bicycle", "the bicycle", "ein Fahrrad", "das Fahrrad", "des Fahrrads", bird=False)


def _first(words: str) -> str:
    return words[0].upper() + words[1:]


def _no(bird: bool) -> tuple[str, str]:
    if bird:
        return (
            "There is no bird anywhere in the picture, not even a painted one or a toy.",
            "Nirgends im Bild ist ein Vogel, auch kein gemalter und kein Spielzeug.",
        )
    return (
        "There is no bicycle anywhere in the picture, not even a drawn one or a model.",
        "Nirgends im Bild ist ein Fahrrad, auch kein gezeichnetes und kein Modell.",
    )


def yes(noun: Noun) -> tuple[str, str]:
    if noun.bird:
        return f"There is {noun.a}; nobody will doubt that.", f"Da ist {noun.ein}; daran zweifelt niemand."
    return "There is a bicycle; nobody will doubt that.", "Da ist ein Fahrrad; daran zweifelt niemand."


def reasons(
    noun: Noun | None,
    *,
    title: tuple[str, str] = ("", ""),
    cut_off: tuple[str, str] | None = None,
    hidden_by: tuple[str, str] | None = None,
    depiction: tuple[str, str] | None = None,
    **more: tuple[str, str],
) -> Reasons:
    """Return the reasons about a picture of `noun`, or of neither; `more` replaces single ones."""
    pairs: dict[str, tuple[str, str]] = {"contains_bird": _no(True), "contains_bicycle": _no(False)}
    if noun:
        pairs["contains_bird" if noun.bird else "contains_bicycle"] = _depicted(noun) if depiction else yes(noun)
        pairs |= _of_object(noun, cut_off, hidden_by, depiction)
    if any(title):
        pairs["title"] = title
    pairs |= more
    return {language: {key: pair[at] for key, pair in pairs.items()} for at, language in enumerate(("en", "de"))}


def _depicted(noun: Noun) -> tuple[str, str]:
    if noun.bird:
        return (
            "A depiction counts here too: a painted or toy bird is a bird in this question.",
            "Auch eine Darstellung zählt: Ein gemalter Vogel oder ein Spielzeugvogel ist in dieser Frage ein Vogel.",
        )
    return (
        "A depiction counts here too: a drawn or modelled bicycle is a bicycle in this question.",
        "Auch eine Darstellung zählt: Ein gezeichnetes oder nachgebautes Fahrrad ist in dieser Frage ein Fahrrad.",
    )


def _of_object(
    noun: Noun, cut_off: tuple[str, str] | None, hidden_by: tuple[str, str] | None, depiction: tuple[str, str] | None
) -> dict[str, tuple[str, str]]:
    whole = (
        f"{_first(noun.the)} lies inside the picture from end to end.",
        f"Nichts {noun.der} liegt außerhalb des Bildes.",
    )
    free = (f"Nothing is in front of {noun.the}.", f"Nichts verdeckt {noun.die}.")
    live = (
        ("This is a photograph of a real, live bird.", "Das ist das Foto eines echten, lebenden Vogels.")
        if noun.bird
        else ("This is a photograph of a real bicycle.", "Das ist das Foto eines echten Fahrrads.")
    )
    return {
        "outline": (
            f"The outline follows the edge of {noun.the} all the way round, thin parts included.",
            f"Der Umriss folgt ringsum dem Rand {noun.der}, auch an dünnen Stellen.",
        ),
        "complete": (f"The edge of the picture cuts off {cut_off[0]}.", f"Der Bildrand schneidet {cut_off[1]} ab.")
        if cut_off
        else whole,
        "unoccluded": (
            f"{_first(hidden_by[0])} hides a part of {noun.the}.",
            f"{_first(hidden_by[1])} verdeckt einen Teil {noun.der}.",
        )
        if hidden_by
        else free,
        "real": (f"This is {depiction[0]}, not the real thing.", f"Das ist {depiction[1]}, kein echter Gegenstand.")
        if depiction and not noun.bird
        else (f"This is {depiction[0]}, not a live bird.", f"Das ist {depiction[1]}, kein lebender Vogel.")
        if depiction
        else live,
    }
