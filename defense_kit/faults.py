"""The closed list of faults (R30): cause, remedy, and who is responsible."""

from dataclasses import dataclass
from enum import StrEnum

MAX_TEXT_CHARACTERS = 4096


class Fault(StrEnum):
    """What may go wrong; a fault is never a wrong answer."""

    IMAGE_PULL = "image_pull"
    START_TIMEOUT = "start_timeout"
    HELLO_TIMEOUT = "hello_timeout"
    BATCH_TIMEOUT = "batch_timeout"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out_of_memory"
    GPU_OUT_OF_MEMORY = "gpu_out_of_memory"
    PROTOCOL = "protocol"
    NONFINITE = "nonfinite"
    DISK = "disk"
    CANCELLED = "cancelled"
    PLATFORM = "platform"


class Payer(StrEnum):
    """Who answers for a fault: the platform tries again at its own cost, a team gets no other try."""

    DEFENSE = "defense"
    PLATFORM = "platform"


@dataclass(frozen=True, slots=True)
class FaultWords:
    """A fault for people: what happened, what to do, and who answers for it."""

    meaning: str
    advice: str
    payer: Payer


WORDS: dict[Fault, FaultWords] = {
    Fault.IMAGE_PULL: FaultWords(
        "The container image could not be loaded under its digest.",
        "Hand in the archive that `docker save` wrote, whole, for this machine's kind (linux/amd64).",
        Payer.PLATFORM,
    ),
    Fault.START_TIMEOUT: FaultWords(
        "The program did not connect to the socket in time.",
        "Connect to the path in DEFENSE_SOCKET soon after the start; look for an error on the way there in the log.",
        Payer.DEFENSE,
    ),
    Fault.HELLO_TIMEOUT: FaultWords(
        "The program connected and did not say HELLO in time.",
        "Send the HELLO frame right after connecting; load what takes long before that.",
        Payer.DEFENSE,
    ),
    Fault.BATCH_TIMEOUT: FaultWords(
        "A batch was not answered in time.",
        "Answer every batch within its seconds; read from the socket all the time and never wait for more pictures.",
        Payer.DEFENSE,
    ),
    Fault.CRASHED: FaultWords(
        "The program ended or hung up before it had answered.",
        "Look for the error at the end of the log; if there is none, call `serve` and run until the socket is closed.",
        Payer.DEFENSE,
    ),
    Fault.OUT_OF_MEMORY: FaultWords(
        "The program used more memory than it may.",
        "Use less: free what one batch needed before the next, load the weights once.",
        Payer.DEFENSE,
    ),
    Fault.GPU_OUT_OF_MEMORY: FaultWords(
        "The graphics card's memory ran out.",
        "Split the batch on the card, or use a smaller model; nothing else runs on the card at the same time.",
        Payer.DEFENSE,
    ),
    Fault.PROTOCOL: FaultWords(
        "The program sent something that defense protocol v1 does not allow.",
        "Compare with the page on the protocol; `defense_kit.serve` sends the right frames for you.",
        Payer.DEFENSE,
    ),
    Fault.NONFINITE: FaultWords(
        "A score is NaN or infinite.",
        "Send finite scores, or zeros: they are informative only.",
        Payer.DEFENSE,
    ),
    Fault.DISK: FaultWords(
        "The program used up the space it may write to.",
        "Write less to /tmp, the only place that can be written, and delete what is not needed any more.",
        Payer.DEFENSE,
    ),
    Fault.CANCELLED: FaultWords(
        "The run was stopped by the people who run the contest.",
        "Nothing: it is done again.",
        Payer.PLATFORM,
    ),
    Fault.PLATFORM: FaultWords(
        "Something around the program failed, not the program.",
        "Nothing: it is tried again by itself, and the organizers see it.",
        Payer.PLATFORM,
    ),
}


class RunnerFault(Exception):
    """A defense, or the platform around it, failed in a way that the closed list names.

    `log` is the end of what the defense printed, where the harness had one to read. `killed` marks a `platform` fault
    that may be the defense's own: its program was killed, and nobody knows by whom.
    """

    log: str = ""

    def __init__(self, fault: Fault, text: str, *, killed: bool = False) -> None:
        super().__init__(f"{fault}: {text}")
        self.fault, self.killed = fault, killed
        self.text = text[:MAX_TEXT_CHARACTERS]
