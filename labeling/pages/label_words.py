"""Translated texts of the labeling page's scripts."""

from collections.abc import Callable

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

# A sample number for each plural category of the Unicode CLDR, to get all plural forms of a language.
_SAMPLES = {"zero": 0, "one": 1, "two": 2, "few": 3, "many": 11, "other": 100}
Words = str | dict[str, str]


def _forms(translated: Callable[[int], str]) -> dict[str, str]:
    forms = {category: translated(sample) for category, sample in _SAMPLES.items()}
    # The script uses `other` for a missing category, so a form that equals it is not sent.
    return {category: form for category, form in forms.items() if category == "other" or form != forms["other"]}


def page_words() -> dict[str, object]:
    """Return all words by name; a dictionary has a form for each plural category, or the names of a part."""
    return {
        **_answering(),
        **_outlining(),
        **_keeping(),
        **_sending(),
        **_next_picture(),
        **_confirmations(),
        **_signing_in(),
        **_keys(),
        "editor": _editor(),
        "touchProblems": {"outline_unfinished": _("The outline is not closed: tap its first corner again.")},
    }


def _answering() -> dict[str, Words]:
    return {
        "questionNumber": _("question {number}"),
        "statementNumbers": _("statement {numbers}"),
        "true": _("true"),
        "false": _("false"),
        "open": _("open"),
        "missing": _("Still missing: {parts}"),
        "ready": _("Ready to submit"),
        "notSentMissing": _("Not sent. Still missing: {parts}."),
        "noSuchStatement": _("Question 4 has three statements."),
        "noMessage": _("There is no message to dismiss."),
    }


def _outlining() -> dict[str, Words]:
    return {
        "missingUncrossed": _("an outline that does not cross itself"),
        "missingClosing": _("closing the outline"),
        # After one is closed, a click that slips begins another.
        "missingNextClosing": _forms(
            lambda many: ngettext(
                "closing or undoing outline {number} ({count} corner)",
                "closing or undoing outline {number} ({count} corners)",
                many,
            )
        ),
        "missingChange": _("a change to the outline"),
        "missingOutline": _("the outline"),
        "answerFirst": _("Answer questions 1 and 2 first. The outline comes after them."),
        "noOutlineAsked": _("No outline is asked for with these answers to questions 1 and 2."),
        "nothingToClose": _("There is no unfinished outline to close."),
        "nothingTraced": _("This key works right after a line was traced."),
        "noCornerYet": _("No corner is drawn yet."),
        "noCornerChosen": _("Choose a corner first."),
        "nothingToUndo": _("There is nothing to undo."),
        "nothingToRedo": _("There is nothing to redo."),
        "saidCannot": _("Question 3: cannot be outlined. No outline is sent."),
        "saidCanAfterAll": _("Question 3: an outline is asked for."),
        "saidSentAgain": _("Question 3: the outline is sent again."),
        "shortCannot": _("cannot be outlined"),
        "shortWrong": _("needs a change"),
        "shortDrawing": _("being drawn"),
        "notSent": _("No outline is sent."),
        "notSentKept": _("No outline is sent. What is drawn is kept."),
        "nothingToTakeBack": _("No answer can be taken back now: each is sent after five seconds or with the next."),
        "takenBack": _("Taken back. Nothing was sent: change it and submit again."),
        "light": _("Brightness {brightness}, contrast {contrast}: on your screen alone."),
        "outlines": _forms(lambda many: ngettext("{count} outline", "{count} outlines", many)),
        "corners": _forms(lambda many: ngettext("{count} corner", "{count} corners", many)),
        "drawn": _("{outlines}, {corners}"),
        "drawnSoFar": _("{drawn}. Change it at any time."),
    }


def _keeping() -> dict[str, Words]:
    return {
        "saved": _("Saved on this device {time}"),
        "savedOnServer": _("Saved {time}"),
        "notKept": _("Not kept on this device: its storage is full or closed."),
        "changedElsewhere": _(
            "This picture was changed in another window. That draft is shown; undo brings your outline back."
        ),
        "answeredElsewhere": _("You answered that picture in another window. This is the next one."),
        "leaveOpen": _forms(
            lambda many: ngettext(
                "This device does not keep it: leave this page open.",
                "This device does not keep them: leave this page open.",
                many,
            )
        ),
        "goesOutByItself": _forms(
            lambda many: ngettext(
                "Kept on this device; it goes out by itself. You can leave this page open or come back.",
                "Kept on this device; they go out by themselves. You can leave this page open or come back.",
                many,
            )
        ),
    }


def _sending() -> dict[str, Words]:
    return {
        "received": _("Received {time}, receipt {receipt}."),
        "keptAsSurplus": _(
            "It arrived after the picture was given to somebody else or taken out, or your labeling was paused: "
            "it is kept and published, and does not count."
        ),
        "earlier": _("An earlier answer: {said}"),
        "surplus": _(
            "Your answer with receipt {receipt} arrived after the picture was given to somebody else or taken out, "
            "or your labeling was paused. "
            "It is kept and published, and does not count. This does not affect your record."
        ),
        "receiptCounted": _("received"),
        "receiptSurplus": _("kept as surplus"),
        "notReceived": _("Not received: {detail} Everything is kept: change it and submit again."),
        "waitForNetwork": _forms(
            lambda many: ngettext(
                "{count} answer waits for the network.", "{count} answers wait for the network.", many
            )
        ),
        "waitForSignIn": _forms(
            lambda many: ngettext(
                "{count} answer waits until you sign in.", "{count} answers wait until you sign in.", many
            )
        ),
    }


def _next_picture() -> dict[str, Words]:
    return {
        "nothingFree": _("Nothing is free just now"),
        "nothingFreeNext": _forms(
            lambda many: ngettext(
                "{count} picture that still needs you is with another tasker. It becomes free at {until}, unless that "
                "tasker is still at it.",
                "{count} pictures that still need you are with other taskers. The last becomes free at {until}, unless "
                "its tasker is still at it.",
                many,
            )
        ),
        "nothingLeft": _("Nothing is left to label"),
        "nothingLeftNext": _("You have answered every picture that needs you. New ones come in without notice."),
        "noMore": _("No more pictures for now"),
        "noConnection": _("No connection"),
        "noConnectionNext": _("The next picture cannot be fetched. Everything you sent is received."),
        "cameIn": _("A picture has come in."),
        "nextPicture": _("This is the next picture."),
        "pictureFails": _("The picture does not load. Reload the page, or report the picture and go on."),
    }


def _confirmations() -> dict[str, Words]:
    return {
        "reported": _("Thank you. An organizer looks at that picture; you do not get it again."),
        "questionSent": _("Thank you. An organizer answers your question, for everybody where it helps everybody."),
        "takeABreak": _forms(
            lambda many: ngettext(
                "You have labeled for {count} minute without a break. A few minutes away from the screen do good; "
                "everything stays as it is.",
                "You have labeled for {count} minutes without a break. A few minutes away from the screen do good; "
                "everything stays as it is.",
                many,
            )
        ),
        "newsOf": _("Version {version}, {day}"),
        "noAnswer": _("No answer from the server. Check the connection and try again; nothing is lost."),
    }


def _signing_in() -> dict[str, Words]:
    return {
        "signInEnded": _("Sign in again"),
        "signInEndedNext": _("Your sign-in has ended. Everything you sent is received."),
        "signInEndedGoOn": _(
            "Your sign-in has ended. Go on: everything is kept, and you are asked to sign in when you submit."
        ),
        "signInPutOff": _(
            "Not sent: you are not signed in. Your answer is kept here. The next submit asks you to sign in again."
        ),
        "wrongAccount": _(
            "Not received: this picture was given to {username}, and somebody else is signed in by now. Sign in as "
            "{username}; everything is kept."
        ),
        "signInClosed": _("Too many wrong passwords: sign-in is closed for an hour. Your answer stays here."),
        "wrongPassword": _("This password does not belong to the user name. Try again."),
        "signInAnswered": _("The sign-in page answered {status}. Try again, or sign in in another tab and go on here."),
        "codeNeeded": _("The password is right. This account has a second factor: type its code as well."),
        "wrongCode": _("This is not the code of this moment, or it was used already. Wait for the next one."),
        "wrongPasskey": _("The passkey was not accepted. Try again, or type a code."),
        "passkeyPutOff": _("The passkey was not used. Try again, or type a code."),
        "signedInSendAgain": _("You are signed in. Send it now."),
        "signInToSend": _("This needs you to be signed in."),
    }


def _keys() -> dict[str, Words]:
    return {
        "changeKey": _("Change the key of: {action}"),
        "pressKey": _("Press the new key for: {action}. Escape leaves it as it is."),
        "keyUnchanged": _("Nothing was changed."),
        "keyRefused": _("This key stays with the browser. Choose a letter, a digit or a sign."),
        "keyChanged": _("{key} is now the key of: {action}."),
        "keySwapped": _("{key} is now the key of: {action}. It was the key of: {other}, which has {freed} now."),
        "keysReset": _("Every action has its usual key again."),
        "keysNotKept": _("No answer from the server, so nothing was changed. Try again when the connection is back."),
    }


def _editor() -> dict[str, object]:
    return {
        "name": _("Outline of the object"),
        "role": _("outline editor"),
        "list": _("Corners of the outline"),
        "listRing": _("Outline {ring}, {corners} corners"),
        "listOpen": _("Outline {ring}, not closed, {corners} corners"),
        "listCorner": _("Corner {corner} at {x}, {y}"),
        "fineness": _("Corners of the traced line"),
        "fewerCorners": _("Fewer corners"),
        "moreCorners": _("More corners"),
        "fineEnough": _("Done"),
        "fine": _("{corners} corners, within {tolerance} px"),
        "at": _("{x}, {y}"),
        "placed": _("Corner {corner} at {x}, {y}"),
        "moved": _("Corner {corner} of {corners} moved to {x}, {y}"),
        "selected": _("Outline {ring}, corner {corner} of {corners} at {x}, {y}"),
        "released": _("No corner selected"),
        "inserted": _("Corner {corner} of {corners} inserted at {x}, {y}"),
        "removed": _("Corner removed"),
        "ringRemoved": _("Outline removed"),
        "closed": _("Outline {ring} closed with {corners} corners"),
        "cancelled": _("Outline given up"),
        "cleared": _("Outline cleared"),
        "undone": _("Undone"),
        "redone": _("Redone"),
        "noEdge": _("There is no edge after this corner"),
        "needsThree": _("An outline needs at least three corners"),
        "problems": _problems(),
    }


def _problems() -> dict[str, str]:
    return {
        "outline_empty": _("No outline yet."),
        "outline_unfinished": _("The outline is not closed: choose its first corner again, or press {close}."),
        "outline_shape": _("The outline cannot be read. Clear it and draw it again."),
        "outline_non_finite": _("Outline {ring} has a corner without a position. Remove it and place it again."),
        "outline_too_many_corners": _("There are too many corners: 1,000 in 20 outlines are the most. Remove some."),
        "outline_too_few_corners": _(
            "Outline {ring} has fewer than three different corners. Add corners or remove the outline."
        ),
        "outline_zero_area": _("Outline {ring} encloses nothing. Move a corner off the line."),
        "outline_self_crossing": _("Outline {ring} crosses or touches itself where it is marked. Move a corner there."),
        "outline_outside": _("The outline lies outside the picture. Draw it around the object."),
    }
