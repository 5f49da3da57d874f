"""Written by scripts/generate.ts from docs/openapi.json; do not edit."""

from __future__ import annotations

import sys
from typing import Any, Literal, Optional, Union

if sys.version_info >= (3, 11):
    from typing import NotRequired, TypedDict
else:
    from typing_extensions import NotRequired, TypedDict

RUN_ENDS = frozenset(["finished", "failed", "cancelled", "dead", "rejected", "merged"])
"""After these events a run publishes no other, unless a caller continues it."""


class RejectedMessage(TypedDict):
    event: Literal["rejected"]
    id: Optional[int]
    data: RunRejected


class QueuedMessage(TypedDict):
    event: Literal["queued"]
    id: Optional[int]
    data: RunQueued


class DelayedMessage(TypedDict):
    event: Literal["delayed"]
    id: Optional[int]
    data: RunDelayed


class MergedMessage(TypedDict):
    event: Literal["merged"]
    id: Optional[int]
    data: RunMerged


class StartedMessage(TypedDict):
    event: Literal["started"]
    id: Optional[int]
    data: RunStarted


class ResumedMessage(TypedDict):
    event: Literal["resumed"]
    id: Optional[int]
    data: RunResumed


class ToolsUnavailableMessage(TypedDict):
    event: Literal["tools-unavailable"]
    id: Optional[int]
    data: RunToolsUnavailable


class SkillActivatedMessage(TypedDict):
    event: Literal["skill-activated"]
    id: Optional[int]
    data: RunSkillActivated


class ModelRespondedMessage(TypedDict):
    event: Literal["model-responded"]
    id: Optional[int]
    data: RunModelResponded


class ToolRequestedMessage(TypedDict):
    event: Literal["tool-requested"]
    id: Optional[int]
    data: RunToolRequested


class ToolCompletedMessage(TypedDict):
    event: Literal["tool-completed"]
    id: Optional[int]
    data: RunToolCompleted


class ToolDeniedMessage(TypedDict):
    event: Literal["tool-denied"]
    id: Optional[int]
    data: RunToolDenied


class ToolFailedMessage(TypedDict):
    event: Literal["tool-failed"]
    id: Optional[int]
    data: RunToolFailed


class FinishedMessage(TypedDict):
    event: Literal["finished"]
    id: Optional[int]
    data: RunFinished


class FailedMessage(TypedDict):
    event: Literal["failed"]
    id: Optional[int]
    data: RunFailed


class CancelledMessage(TypedDict):
    event: Literal["cancelled"]
    id: Optional[int]
    data: RunCancelled


class RetriedMessage(TypedDict):
    event: Literal["retried"]
    id: Optional[int]
    data: RunRetried


class LimitsChangedMessage(TypedDict):
    event: Literal["limits-changed"]
    id: Optional[int]
    data: RunRetried


class WaitingMessage(TypedDict):
    event: Literal["waiting"]
    id: Optional[int]
    data: RunWaiting


class WokenMessage(TypedDict):
    event: Literal["woken"]
    id: Optional[int]
    data: RunWoken


class QuestionRequestedMessage(TypedDict):
    event: Literal["question-requested"]
    id: Optional[int]
    data: RunQuestionRequested


class QuestionAnsweredMessage(TypedDict):
    event: Literal["question-answered"]
    id: Optional[int]
    data: RunQuestionAnswered


class ChildStartedMessage(TypedDict):
    event: Literal["child-started"]
    id: Optional[int]
    data: RunChildStarted


class ChildEndedMessage(TypedDict):
    event: Literal["child-ended"]
    id: Optional[int]
    data: RunChildEnded


class SteeredMessage(TypedDict):
    event: Literal["steered"]
    id: Optional[int]
    data: RunSteered


class DeadMessage(TypedDict):
    event: Literal["dead"]
    id: Optional[int]
    data: RunFailed


class DeltaMessage(TypedDict):
    event: Literal["delta"]
    id: Optional[int]
    data: RunDelta


class AcceptedCommand(TypedDict):
    runId: str
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    sequence: int
    """Position of the command in its stream."""


class AddScheduleJob(TypedDict):
    """The job."""

    name: str
    """Name of the job for people."""
    description: NotRequired[str]
    """Description for people and models."""
    agentId: NotRequired[str | None]
    """The agent; left out or null: the installation's agent for jobs."""
    sessionKey: NotRequired[str | None]
    """Session of a `main` job; left out or null: `main`."""
    schedule: JobSchedule
    """When the job is due."""
    sessionTarget: Literal["main", "isolated"]
    """`main`: a message in a session. `isolated`: a session of its own for each run."""
    payload: JobPayload
    """The work of the job."""
    delivery: NotRequired[JobDelivery]
    """The target of the answer; null removes it."""
    enabled: NotRequired[bool]
    """True when it is switched on."""
    deleteAfterRun: NotRequired[bool]
    """True: the job is removed after its run; left out: true for `at`."""
    wakeMode: NotRequired[Literal["next-heartbeat", "now"]]
    """`now`, or with the next heartbeat."""
    overlap: NotRequired[Literal["skip", "queue", "parallel"]]
    """The treatment of a due time while an earlier run is in progress."""
    catchUp: NotRequired[Literal["once", "skip"]]
    """After an outage: `once` for all missed due times, or `skip` them."""


class Address(TypedDict):
    channel: str
    """Name of the channel, such as `telegram`."""
    accountId: str
    """Account of the channel, as channels.json names it."""
    target: ChannelTarget
    """The person, group or channel."""
    threadId: NotRequired[str]
    """Id of the thread; missing outside of threads."""


class AddressInput(TypedDict):
    channel: str
    """Name of the channel, such as `telegram`."""
    accountId: NotRequired[str]
    """Account of the channel, as channels.json names it."""
    target: ChannelTarget
    """The person, group or channel."""
    threadId: NotRequired[str]
    """Id of the thread; missing outside of threads."""


class Agent(TypedDict):
    runs: int
    """Number of runs."""
    failed: int
    """The failed and dead ones among them."""
    costUsd: float
    """Known cost of their model calls in US dollars."""
    unpriced: int
    """Runs with a model call whose price is unknown."""
    inputTokens: int
    """Input tokens of all their model calls."""
    outputTokens: int
    """Output tokens of all their model calls."""
    name: str | None
    """Name of the agent, model or requester, or code; null: all others."""


class AgentDefinition(TypedDict):
    name: str
    """Name of an agent: 1-64 characters of A-Z a-z 0-9 _ -."""
    description: str
    """Description for people and models."""
    source: Literal["project", "user", "built-in", "imported"]
    """The source."""
    digest: str
    """SHA-256 digest that names exactly this version."""
    model: str | None
    """The model; null: the default model."""
    systemPrompt: str
    """The system prompt."""
    tools: list[str] | None
    """Tool patterns; null is every tool, an empty list is none."""
    skills: list[str]
    """Skills whose text goes into the system prompt."""
    maxSteps: int
    """The most model calls of a run."""
    temperature: float | None
    """Randomness of the model's words, 0 to 2; null: the provider's default."""
    thinking: Literal["off", "none", "minimal", "low", "medium", "high", "xhigh", "max"] | None
    """The reasoning effort of the model; left out or null: the default."""
    plan: Plan | None
    """Plan for the scripted provider, which is not AI; null without one."""
    roles: list[str]
    """Names of the agent's duties, which policies and servers refer to."""
    limits: AgentDefinitionLimits
    """Limits of the agent's runs; null is no limit of the agent's own."""
    onUnknownOutcome: Literal["retry", "fail", "ask"]
    """The reaction when it is unknown whether a tool call was executed."""
    approval: Literal["auto", "session", "always"] | None
    """The least approval that each call needs from people; null: the policy decides."""
    contextWindow: int | None
    """Tokens of the model's context window; null when it is not known."""
    memoryBytes: int | None
    """Bytes of memories in the system prompt; null is none."""
    sharesMemory: bool
    """True when all runs of the agent share one memory, for all requesters."""


class AgentDefinitionLimits(TypedDict):
    """Limits of the agent's runs; null is no limit of the agent's own."""

    maxToolCalls: int | None
    """The most tool calls of a run; null: no limit of its own."""
    maxTokens: int | None
    """The most input and output tokens of all model calls together; null: no limit."""
    maxCostUsd: float | None
    """The most that all model calls may cost, in US dollars. Calls of unknown price count as 0."""
    timeoutMs: int | None
    """Time limit of a run, in milliseconds; null: no limit of the agent's own."""
    maxDepth: int | None
    """The maximum depth of child runs; 0 is none, null no limit of the agent's own."""


class AgentsUploaded(TypedDict):
    counts: AgentsUploadedCounts
    """The numbers of files found, loaded and skipped."""
    agents: list[AgentsUploadedAgents]
    """One for each file, in the order in which they came."""
    diagnostics: list[Diagnostic]
    """Remarks about the file, with their lines."""


class AgentsUploadedAgents(TypedDict):
    file: str
    """Path of the file, with `/`."""
    name: str | None
    """Name of the agent; null when the file does not load."""
    description: str
    """Description for people and models."""
    digest: str | None
    """Digest of the file; null when it does not load."""
    outcome: Literal["loaded", "skipped", "not_an_agent"]
    """The outcome for the file."""
    change: Literal["new", "changed", "same", "hidden"] | None
    """Compared with the listed version; `hidden`: a file of the importer has the name."""
    withheld: Literal["untrusted", "changed", "blocked"] | None
    """The reason why it is stored and not listed; null when it is listed."""
    diagnostics: list[Diagnostic]
    """Remarks about the file, with their lines."""
    scan: NotRequired[ScanReport]
    """Report of the scanner; null when the version was never scanned."""


class AgentsUploadedCounts(TypedDict):
    """The numbers of files found, loaded and skipped."""

    found: int
    """Files that were found."""
    loaded: int
    """Files that were loaded."""
    skipped: int
    """Files that were skipped."""
    withheld: int
    """Loaded files that wait for a person's trust."""
    reasons: dict[str, int]
    """Skipped files by the code of their first error."""


class AnswerRunQuestionReply(TypedDict):
    outcome: Literal["accepted", "answered_before"]
    """`answered_before`: an earlier answer counts."""


class AnswerServerQuestionReply(TypedDict):
    question: Question
    """The question after the answer."""


class Approval(TypedDict):
    id: str
    """Id of the approval."""
    state: Literal["pending", "approved", "denied", "expired", "cancelled", "consumed"]
    """`pending` until a person decides; `approved` until the call consumes it."""
    tier: Literal["session", "always"]
    """The approval tier of the call: `auto` needs no person, `session` one approval for a while,
    `always` one each time.
    """
    risk: Literal["low", "medium", "high"]
    """The possible harm of the call. It decides nothing."""
    binding: str
    """Digest that binds the approval to exactly this call. Send it back as it was shown."""
    principal: Principal
    """For whom the policy decides: a user, or a run of a user."""
    caller: str
    """The NATS user that a credential or a subject stands for."""
    tool: ToolRef
    """The tool: its canonical name, its server and its name there."""
    pin: str | None
    """Digest of the tool's definition; null when it has none."""
    argsDigest: str
    """Digest of the arguments as canonical JSON."""
    rule: str | None
    """Id of the rule that decided; null when no rule matched."""
    why: str
    """The reason why a person has to approve the call."""
    policyDigest: str
    """Digest of the rules in force."""
    callId: str | None
    """Id of the tool call. A call that is repeated under its id returns the stored result."""
    grantTtlMs: int | None
    """The longest lifetime of a standing approval by the rule, in milliseconds; null: no limit."""
    requestedAt: Timestamp
    """When the approval was requested."""
    expiresAt: Timestamp
    """End of the time to decide; for an approved one, of the time to make the call."""
    decision: ApprovalDecision | None
    """The person's decision; null while it is pending."""
    edit: NotRequired[ApprovalEdit]
    """The change of the arguments by an approver; left out when they are its own."""
    requirements: list[Requirement]
    """The people that the rules want; empty when one who may approve calls is enough."""
    votes: list[ApprovalVotes]
    """The people who have approved the call."""
    needed: int
    """The number of approvals that all rules want together."""
    reasonFor: list[Literal["approvals", "denials"]]
    """The decisions that need a reason."""
    escalatesAt: Timestamp | None
    """When other people are added; null when none are."""
    consumedAt: Timestamp | None
    """When the call consumed it; null before."""
    execution: Literal["executed", "unknown"] | None
    """`executed`, or `unknown` while the provider has not reported the end; null until it is
    consumed.
    """
    resultDigest: str | None
    """Digest of the call's result; null before."""


class ApprovalDecision(TypedDict):
    by: str
    """The NATS user that did it."""
    authenticated: Literal["nats-user", "user-token", "policy-service", "chat-link"]
    """The way the approver's identity was established."""
    via: NotRequired[str]
    """The channel of a decision in a chat; left out for one that was made elsewhere."""
    scope: Literal["once", "session"] | None
    """`once`: this call; `session`: more calls of its kind; null for a denial."""
    reason: str | None
    """Why, in words for people."""
    at: Timestamp
    """When it happened."""


class ApprovalEdit(TypedDict):
    """The change of the arguments by an approver; left out when they are its own."""

    by: str
    """The user that changed them."""
    at: Timestamp
    """When they were changed."""
    argsDigest: str
    """Digest of the changed arguments."""
    binding: str
    """Digest of the call with the changed arguments."""


class ApprovalEnded(TypedDict):
    approval: Approval
    """The approval as it is now."""


class ApprovalVotes(TypedDict):
    by: str
    """The NATS user that did it."""
    standsFor: str | None
    """The person for whom a deputy approved; null for an approver of the rule."""
    authenticated: Literal["nats-user", "user-token", "policy-service", "chat-link"]
    """The way the approver's identity was established."""
    isApprover: bool
    """True for a person who may approve such calls by setting, role or `approvers`."""
    scope: Literal["once", "session"]
    """`session` covers more calls of the kind, when everybody approves so."""
    terms: ApprovalVotesTerms | None
    """Limits of a standing approval; null: none."""
    reason: str | None
    """Why, in words for people."""
    at: Timestamp
    """When it happened."""


class ApprovalVotesTerms(TypedDict):
    ttlMs: int | None
    """Longest lifetime in milliseconds; null: the rule's."""
    maxUses: int | None
    """The most calls; null: as many as the service allows."""
    sameArguments: list[str]
    """JSON pointers of arguments that must have the approved call's values."""


class ApproveCallReply(TypedDict):
    approval: Approval
    """The approval as it is now."""
    grant: SessionGrant | None
    """The standing approval; null for a single call."""


class ApprovePinsReply(TypedDict):
    approved: int
    """The number of approved tools."""


class ApprovePinsTools(TypedDict):
    tool: str
    """Name of the tool at its server."""
    digest: NotRequired[str]
    """SHA-256 digest that names exactly this version."""


class BeginLoginReply(TypedDict):
    authorizationUrl: str
    """Address that a person opens in a browser."""
    state: str
    """Value that the browser brings back; valid once."""
    expiresAt: Timestamp
    """When it ends; from then on it has no effect."""


class BlockPinsReply(TypedDict):
    blocked: int
    """The number of blocked tools."""


class CallBuiltinReply(TypedDict):
    content: list[Content]
    """Content blocks of MCP, in order."""
    structuredContent: NotRequired[Any]
    """The result as data; absent when the tool failed."""
    isError: bool
    """True when the tool failed; the text has the reason."""
    text: str
    """Text form of the result, as an agent gets it."""
    decision: Decision
    """The policy's decision."""
    durationMs: float
    """The duration, in milliseconds."""
    replayed: bool
    """True when the result is the stored one of an earlier request with the same id."""


class CallToolReply(TypedDict):
    content: list[Content]
    """Content blocks of MCP, in order."""
    structuredContent: NotRequired[Any]
    """The result as data; absent when the tool failed."""
    _meta: NotRequired[dict[str, Any]]
    """Metadata of an MCP message, beside its content."""
    isError: bool
    """True when the tool failed; the text has the reason."""
    text: str
    """Text form of the result, as an agent gets it."""
    decision: Decision
    """The policy's decision."""
    durationMs: float
    """The duration, in milliseconds."""
    replayed: bool
    """True when the result is the stored one of an earlier request with the same id."""


class CancelBuiltinReply(TypedDict):
    cancelled: bool
    """True when it was in progress and is cancelled."""


class CancelRunReply(TypedDict):
    outcome: Literal["requested", "remembered", "ended"]
    """`remembered`: no runner has the run yet. `ended`: it had ended before."""


class CapabilityUse(TypedDict):
    declared: list[str]
    """Names that the frontmatter declares."""
    used: list[str]
    """Names that body and scripts use."""
    undeclared: list[str]
    """Names that are used and not declared."""


class Changes(TypedDict):
    added: list[str]
    """The added parts."""
    removed: list[str]
    """The removed parts."""


class ChannelCapabilities(TypedDict):
    actions: list[Literal["send", "reply", "thread", "react", "delete", "pin", "read", "resolve", "attachments", "effects", "silent"]]
    """The supported actions."""
    maxTextLength: int
    """The longest text of one message, in UTF-16 units."""
    media: ChannelCapabilitiesMedia | None
    """Supported attachments; null: none."""
    effects: list[str]
    """Names of the effects."""
    threads: Literal["none", "reply", "topic", "channel"]
    """The naming of threads; `none` without threads."""
    reactions: Literal["none", "unicode", "named", "any"]
    """The accepted form of an emoji."""
    idempotentSend: bool
    """True when the provider drops a message that is sent again."""


class ChannelCapabilitiesMedia(TypedDict):
    kinds: list[Literal["image", "audio", "video", "file"]]
    """Kinds of attachments."""
    maxBytes: int
    """The limit in bytes."""


class ChannelTarget(TypedDict):
    kind: Literal["user", "group", "channel"]
    """The kind of target: a person, a group or a channel."""
    id: str
    """Id at the provider."""


class Chat(TypedDict):
    address: Address
    """The address."""
    messageId: NotRequired[str]
    """Id of the message at its provider."""
    sender: NotRequired[ChatSender]
    """The author of the message."""


class ChatLink(TypedDict):
    id: str
    """Id of the link."""
    caller: str
    """The caller in whose name the person decides."""
    channel: str
    """Name of the channel, such as `telegram`."""
    accountId: str
    """The account of `channels.json` to which the person wrote."""
    personId: str
    """The provider's stable id of the person, never a name."""
    asks: bool
    """True: calls that the caller may decide about are sent to the private chat."""
    linkedAt: Timestamp
    """When the person sent the code."""
    expiresAt: Timestamp
    """When the link ends."""


class ChatSender(TypedDict):
    """The author of the message."""

    id: str
    """Id at the provider."""
    name: NotRequired[str]
    """Name for people."""


class CheckAgentsFiles(TypedDict):
    file: str
    """Path with `/`; its last parts determine format and fallback name."""
    text: str
    """The text of the file."""


class CheckAgentsReply(TypedDict):
    files: list[CheckAgentsReplyFiles]
    """One for each file, in the order of the request."""


class CheckAgentsReplyFiles(TypedDict):
    file: str
    """Path of the file, with `/`."""
    verdict: Literal["loads", "skipped", "not_an_agent"]
    """`not_an_agent`: Markdown without frontmatter, such as a README."""
    agent: AgentDefinition | None
    """The definition; null when the file does not load."""
    diagnostics: list[Diagnostic]
    """Remarks about the file, with their lines."""


class CheckChannelAccountReply(TypedDict):
    channel: str
    """Name of the channel, such as `telegram`."""
    accountId: str
    """Account of the channel, as channels.json names it."""
    ok: bool
    """True when the provider accepts the credentials."""
    identity: str | None
    """The account's name at the provider; null when it is not known."""
    problem: str | None
    """The reason why it does not; null when it does."""


class CheckSkillsReply(TypedDict):
    files: list[CheckSkillsReplyFiles]
    """The files."""
    total: int
    """The number of skill files below the directory."""
    diagnostics: list[Diagnostic]
    """Remarks about the file, with their lines."""
    nextOffset: int | None
    """`offset` of the next page; null when this is the last one."""


class CheckSkillsReplyFiles(TypedDict):
    file: str
    """Path of the file, with `/`."""
    name: str | None
    """Name of the skill; null when the file does not load."""
    loads: bool
    """True when the file loads."""
    repaired: bool
    """True when the file's YAML is broken and was read after a repair."""
    needsReview: bool
    """True when so little could be read that a person should review it."""
    conformance: list[Conformance]
    """Results of the checks against other formats; present only when requested."""
    diagnostics: list[Diagnostic]
    """Remarks about the file, with their lines."""


class ClaimSessionReply(TypedDict):
    token: str
    """The token for calls under the rules of the session."""
    expiresAt: Timestamp
    """When it ends; from then on it has no effect."""
    sessionId: str
    """Id of the session; a reset gives the session another one."""
    sessionKey: str
    """Key of the session, unique among those of its owner."""
    agent: str
    """The agent of the session's run."""
    channel: str | None
    """The channel of the conversation; null: it has none."""
    group: str | None
    """The group conversation in the channel; null: it has none."""
    depth: int
    """The number of runs above those of the session."""


class Conformance(TypedDict):
    target: Literal["agent-skills", "claude-code", "claude-ai", "openclaw", "clawhub"]
    """The format."""
    conforms: bool
    """True when the file fits the format."""
    problems: list[ConformanceProblems]
    """The problems: the path of each value, and its problem."""


class ConformanceProblems(TypedDict):
    code: str
    """Stable snake_case code of the problem."""
    message: str
    """A description of the event, for people."""
    line: int | None
    """Line in the file, from 1; null when it is about the whole file."""


class ConnectServerReply(TypedDict):
    server: ServerInfo
    """The server after the attempt."""


class Content(TypedDict):
    type: str
    """Selects the form of this object; its other fields depend on it."""


class CreateChatLinkReply(TypedDict):
    code: str
    """The one-time code to send to the bot in a private chat. It is shown here and never again."""
    expiresAt: Timestamp
    """When the code ends."""


class CreateWebhookReply(TypedDict):
    webhook: Webhook
    """The webhook."""
    secret: str
    """Secret for checking signatures. It is shown here and never again."""


class Decision(TypedDict):
    effect: Literal["allow", "deny", "ask"]
    """The decision: `allow`, `deny`, or `ask` when a person has to approve the call."""
    rule: str | None
    """Id of the rule that decided; null when no rule matched."""
    reason: str
    """Why, in words for people."""
    policyDigest: str
    """Digest of the rules in force."""
    tier: NotRequired[Literal["auto", "session", "always"]]
    """The approval tier of the call: `auto` needs no person, `session` one approval for a while,
    `always` one each time.
    """
    ttlMs: NotRequired[int]
    """With the tier `session`: how long one approval may stay valid, in milliseconds."""
    approveRules: NotRequired[list[str]]
    """The rules that state who has to approve the call; all of them count."""
    found: NotRequired[dict[str, int]]
    """The number of findings of each kind in the arguments, where a rule looks for them; never
    values.
    """
    inspection: NotRequired[DecisionInspection]
    """The inspection that the tool provider makes: of the result, and of masks in the arguments."""
    stop: NotRequired[WaitStop]
    """The stop that denies the call. The call may pass once the stop is lifted."""


class DecisionInspection(TypedDict):
    """The inspection that the tool provider makes: of the result, and of masks in the arguments."""

    results: dict[str, DecisionInspectionResultsValue]
    """The kinds to look for in the result, each with its effect and rule."""
    unmask: list[Literal["secret", "iban", "card", "ssn", "host", "injection"]]
    """The kinds of masks in the arguments that the tool gets the values of."""


class DecisionInspectionResultsValue(TypedDict):
    effect: Literal["mask", "deny"]
    """The effect on the result: it is masked or withheld."""
    rule: str
    """Id of the rule that decided; null when no rule matched."""


class DeleteRunReply(TypedDict):
    runId: str
    """Whole id of the run."""
    outcome: Literal["deleted", "absent"]
    """`absent`: the caller has no such run, or deleted it before."""


class DeleteRunsReply(TypedDict):
    deleted: int
    """Number of deleted runs."""
    notEnded: int
    """Number of runs that were looked at and have not ended."""
    next: str | None
    """`cursor` of the next page; null when this is the last one."""


class DeleteServerSecretReply(TypedDict):
    deleted: Literal[True]
    """Always true."""
    name: str
    """Name of the deleted secret."""


class DeleteSessionReply(TypedDict):
    sessionId: str
    """Id of the session; a reset gives the session another one."""
    sessionKey: str
    """Key of the session, unique among those of its owner."""
    cancelledRun: str | None
    """The run that was cancelled; null when none was in progress."""
    droppedRuns: list[str]
    """Messages that waited and are not answered."""


class Diagnostic(TypedDict):
    severity: Literal["error", "warning", "info"]
    """The severity; an error keeps the file from loading."""
    code: str
    """Stable snake_case code of the problem."""
    message: str
    """A description of the event, for people."""
    file: str
    """Path of the file, with `/`."""
    line: int | None
    """Line in the file, from 1; null when it is about the whole file."""
    column: int | None
    """Column in the line, from 1; null when it is about the whole line."""
    excerpt: NotRequired[str]
    """The line that it is about, shortened."""
    patch: NotRequired[DiagnosticPatch]
    """The fix: lines to replace."""


class DiagnosticPatch(TypedDict):
    """The fix: lines to replace."""

    line: int
    """Line in the file, from 1; null when it is about the whole file."""
    before: str
    """The lines as they are."""
    after: str
    """The lines as they should be."""


# from: The older version.
# to: The newer version.
# text: Differences of the parsed definitions as lines with ` `, `-` or `+` before them.
# capabilities: Changes of what the agent may do, such as `tool read_file`.
# findings: Changes of the findings, as `code file`.
DiffAgentReply = TypedDict(
    "DiffAgentReply",
    {
        "from": "str",
        "to": "str",
        "text": "str",
        "capabilities": "Changes",
        "findings": "Changes",
    },
)


class DiffPinReply(TypedDict):
    pin: ToolPin
    """The pin."""
    identityChanged: bool
    """True when command or address of the server differ from the approved ones."""
    isReworded: NotRequired[bool]
    """True when only descriptions and titles differ."""
    differences: list[DiffPinReplyDifferences]
    """Differences from the approved definition."""
    omitted: int
    """The number of entries not listed."""


class DiffPinReplyDifferences(TypedDict):
    where: str
    """JSON pointer to the position; the empty one is the whole."""
    before: str | None
    """The value before; null when there was none."""
    after: str | None
    """The value after; null when there is none."""


# from: The older version.
# to: The newer version.
# text: Differences of the SKILL.md as lines with ` `, `-` or `+` before them.
# files: Paths of the files that differ.
# capabilities: Changes of what the skill uses, such as `bin curl`.
# findings: Changes of the findings, as `code file`.
DiffSkillReply = TypedDict(
    "DiffSkillReply",
    {
        "from": "str",
        "to": "str",
        "text": "str",
        "files": "DiffSkillReplyFiles",
        "capabilities": "Changes",
        "findings": "Changes",
    },
)


class DiffSkillReplyFiles(TypedDict):
    """Paths of the files that differ."""

    added: list[str]
    """The added parts."""
    removed: list[str]
    """The removed parts."""
    changed: list[str]
    """The changed parts."""


class DisconnectServerReply(TypedDict):
    server: ServerInfo | None
    """The server; null when there is none of this id."""


class EndLoginReply(TypedDict):
    server: ServerInfo
    """The server after the logout."""
    wasLoggedIn: bool
    """False when there was no login."""
    revocation: Literal["revoked", "not_offered", "failed"] | None
    """The result of revoking the tokens at the authorization server; null without a login."""


class ExplainPolicyReply(TypedDict):
    decision: Decision
    """The policy's decision."""
    principal: Principal
    """For whom the policy decides: a user, or a run of a user."""
    tool: ToolRef
    """The tool: its canonical name, its server and its name there."""
    labels: NotRequired[list[str]]
    """Labels of the tool: of its server and of the bundle."""
    limits: NotRequired[list[ExplainPolicyReplyLimits]]
    """Everything beside the rules that limits this call."""
    considered: list[ExplainPolicyReplyConsidered]
    """The rules, matching ones first."""
    omitted: int
    """Rules that are not in `considered`."""
    nearest: ExplainPolicyReplyNearest | None
    """For a denial: the allow rule that needs the fewest changes."""


class ExplainPolicyReplyConsidered(TypedDict):
    rule: str
    """Id of the rule."""
    effect: Literal["allow", "deny"]
    """The decision: `allow`, `deny`, or `ask` when a person has to approve the call."""
    match: bool
    """True when the rule matches the call."""
    failed: RuleMismatch | None
    """The first part that does not fit; null when the rule matches."""
    tier: NotRequired[Literal["auto", "session", "always"]]
    """The approval tier of the call: `auto` needs no person, `session` one approval for a while,
    `always` one each time.
    """


class ExplainPolicyReplyLimits(TypedDict):
    kind: Literal["stop", "server", "token", "layer", "owner", "sub-agent", "flow", "budget", "window"]
    """The kind of limit on the call."""
    name: str
    """Name of the limit."""
    passes: bool
    """False when it denies the call or requires a person."""
    detail: str
    """The facts behind the result."""


class ExplainPolicyReplyNearest(TypedDict):
    rule: str
    """Id of the rule."""
    failed: list[RuleMismatch]
    """The parts that do not fit."""


class File(TypedDict):
    file: Input
    """The stored file, as a part of an input."""
    endsAt: Timestamp
    """When it ends unless it is used before."""


class FindWhoCanCallReply(TypedDict):
    tool: ToolRef
    """The tool: its canonical name, its server and its name there."""
    policyDigest: str
    """Digest of the rules in force."""
    reach: list[FindWhoCanCallReplyReach]
    """The principals that can call the tool; empty when none can."""
    deniedBy: list[str]
    """Deny rules that no principal escapes."""
    omitted: int
    """The number of entries not listed."""


# rule: Id of the rule that allows it, or `(no rule)` for a file access that no rule names.
# tier: The approval tier of the call: `auto` needs no person, `session` one approval for a while, `always` one each time.
# users: Patterns of users; null is anyone.
# agents: Patterns of agents; null is anyone.
# roles: Patterns of roles; null is anyone.
# channels: Patterns of channels; null is anyone.
# groups: Patterns of group conversations; null is anyone.
# conditional: True when only some arguments are allowed.
# except: Deny rules and layers that exclude some of them.
FindWhoCanCallReplyReach = TypedDict(
    "FindWhoCanCallReplyReach",
    {
        "rule": "str",
        "tier": 'Literal["auto", "session", "always"]',
        "users": "list[str] | None",
        "agents": "list[str] | None",
        "roles": "list[str] | None",
        "channels": "list[str] | None",
        "groups": "list[str] | None",
        "conditional": "bool",
        "except": "list[str]",
    },
)


class FinishLoginReply(TypedDict):
    server: ServerInfo
    """The server after the login."""


class GetAgentReply(TypedDict):
    agent: AgentDefinition
    """The agent."""
    review: NotRequired[Review]
    """The material that a person reviews before trusting a version; present when `version` was
    given.
    """
    provenance: NotRequired[Provenance]
    """The origin of the version."""
    keepForMs: NotRequired[int]
    """The time for which the reply may be reused, in milliseconds from before the request."""


class GetApprovalReply(TypedDict):
    approval: Approval
    """The approval as it is now."""
    presentation: Presentation
    """The arguments in the form that a person sees: secrets are masked."""
    unmasked: NotRequired[list[GetApprovalReplyUnmasked]]
    """The values behind masks in the arguments; left out for a caller who is shown none."""
    edited: NotRequired[Presentation]
    """The arguments that an approver put in place of those of the call."""
    context: NotRequired[GetApprovalReplyContext | None]
    """The run's steps before the call; null for a call of no run."""


class GetApprovalReplyContext(TypedDict):
    agent: str
    """Name of the agent."""
    requester: str
    """The NATS user whose command started the run."""
    input: str
    """Input of the run, cut to 4 KiB."""
    modelText: str
    """The last text of the model up to the call, cut to 4 KiB."""
    calls: list[GetApprovalReplyContextCalls]
    """Tool calls, the oldest first."""
    earlierCalls: int
    """The number of calls before those in `calls`."""


class GetApprovalReplyContextCalls(TypedDict):
    tool: str
    """Name of the tool."""
    argsPreview: str
    """JSON of the arguments with secrets masked, cut to 1 KiB."""
    outcome: Literal["done", "error", "open"]
    """`open` while there is no result; `error` when it was denied or failed."""
    preview: str
    """The beginning of the text, at most 1 KiB."""


class GetApprovalReplyUnmasked(TypedDict):
    mask: str
    """The mask."""
    value: str
    """The value behind it."""


class GetChannelCapabilitiesReply(TypedDict):
    channel: str
    """Name of the channel, such as `telegram`."""
    accountId: str
    """Account of the channel, as channels.json names it."""
    capabilities: ChannelCapabilities
    """The supported features."""


class GetMeReply(TypedDict):
    caller: str
    """The NATS user that the credential stands for."""
    roles: list[Literal["viewer", "operator", "approver", "admin"]]
    """The roles, each once."""
    credential: str
    """Name of the credential, never the credential itself."""
    scopes: NotRequired[list[str]]
    """Names or patterns of the permitted operations; missing means all that the roles allow."""
    may: list[str]
    """Operations that the credential may use, as method and path below `/api/v1`."""


class GetPromptReply(TypedDict):
    description: str | None
    """Description of the prompt; null without one."""
    messages: list[GetPromptReplyMessages]
    """The messages, in order."""
    _meta: NotRequired[dict[str, Any]]
    """Metadata of an MCP message, beside its content."""
    decision: Decision
    """The policy's decision."""


class GetPromptReplyMessages(TypedDict):
    role: Literal["user", "assistant"]
    """The speaker's role."""
    content: Content
    """A content block of MCP."""


class GetPushReply(TypedDict):
    publicKey: str | None
    """The key with which a browser subscribes, in base64url; null: there is no web push here."""


class GetRecordingReply(TypedDict):
    run: GetRecordingReplyRun
    """The run."""


class GetRecordingReplyRun(TypedDict):
    """The run."""

    runId: str
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    agent: str
    """Name of the agent."""
    input: RunInput
    """Input of the run: a text, a list of texts and files, or a JSON object. At most 4 MiB as JSON.
    """
    skill: NotRequired[str]
    """Name of the skill."""
    output: NotRequired[dict[str, Any]]
    """JSON Schema of the answer that the command requested."""
    model: str
    """The model, as `provider/model`."""
    recording: GetRecordingReplyRunRecording
    """The recorded answers, for `replay` of a run."""


class GetRecordingReplyRunRecording(TypedDict):
    """The recorded answers, for `replay` of a run."""

    version: Literal[1]
    """Version of the recording's form."""
    answers: list[RecordedAnswer]
    """Answers of the models, in order."""
    summaries: list[RecordedSummary]
    """Summaries that replaced earlier answers."""
    contextWindow: NotRequired[int]
    """Tokens of the model's context window; null when it is not known."""


class GetRunReply(TypedDict):
    run: GetRunReplyRun
    """The run."""


class GetRunReplyRun(TypedDict):
    """The run."""

    runId: str
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    agent: str
    """Name of the agent."""
    requester: str
    """The NATS user whose command started the run."""
    model: str | None
    """The model, as `provider/model`."""
    status: Literal["running", "waiting", "succeeded", "failed", "cancelled", "dead", "queued", "rejected"]
    """`waiting`: no runner holds it. `dead`: it killed its runners; a retry continues it."""
    steps: int
    """Model calls so far."""
    toolCalls: int
    """Tool calls so far."""
    createdAt: Timestamp
    """When it was created."""
    updatedAt: Timestamp
    """When it changed last."""
    attempts: int
    """The number of attempts."""
    labels: dict[str, str]
    """Labels that the command gave the run."""
    usage: Usage
    """Tokens of the model calls."""
    costUsd: NotRequired[float | None]
    """Cost of the model calls in US dollars; null when the price of a model is unknown."""
    waitsFor: NotRequired[list[Literal["approval", "child", "question", "timer", "limit", "stopped"]]]
    """Reasons for `waiting`, each once."""
    suspended: NotRequired[str]
    """With `running`: what keeps the run from continuing. The runner retries."""
    inputStart: NotRequired[str]
    """The first 200 characters of the input, in one line."""
    errorCode: NotRequired[str]
    """With `failed` and `dead`: the code of the failure."""
    input: RunInput
    """Input of the run: a text, a list of texts and files, or a JSON object. At most 4 MiB as JSON.
    """
    output: str | None
    """The whole answer; null until the run has ended with one."""
    failure: RunFailure | None
    """The reason of the failure: a code and a message."""
    cancellation: GetRunReplyRunCancellation | None
    """Set as soon as the run is to be cancelled."""
    thinking: NotRequired[Literal["off", "none", "minimal", "low", "medium", "high", "xhigh", "max"]]
    """The reasoning effort of the model; left out or null: the default."""
    readers: NotRequired[list[str]]
    """NATS users that may read the run besides its owner; they may not control it."""
    agentDigest: str | None
    """Digest of the agent's version; null until a runner has begun the run."""
    policyDigest: NotRequired[str]
    """Digest of the rules in force when the run began."""
    skills: list[GetRunReplyRunSkills]
    """Skills that the run activated, with their versions."""
    skillsCut: NotRequired[GetRunReplyRunSkillsCut]
    """Skills that lack room in the model's list; missing when there are none."""
    memory: NotRequired[GetRunReplyRunMemory]
    """The number of the agent's memories in the system prompt."""
    toolsUnavailable: NotRequired[list[GetRunReplyRunToolsUnavailable]]
    """MCP servers whose tools the run lacked at its last step."""
    waits: NotRequired[list[GetRunReplyRunWaits]]
    """The waits of the run."""
    parent: NotRequired[GetRunReplyRunParent]
    """The run that this one works for, and its call."""
    children: NotRequired[list[GetRunReplyRunChildren]]
    """Runs that work for this one."""
    forkedFrom: NotRequired[GetRunReplyRunForkedFrom]
    """The run and the step that this one was copied from."""
    session: NotRequired[GetRunReplyRunSession]
    """The conversation that the run belongs to."""
    authority: NotRequired[GetRunReplyRunAuthority]
    """The claims of the run's token, to explain decisions about its calls."""


class GetRunReplyRunAuthority(TypedDict):
    """The claims of the run's token, to explain decisions about its calls."""

    roles: list[str]
    """The roles, each once."""
    approval: NotRequired[Literal["auto", "session", "always"]]
    """The least approval that each call needs from people."""
    context: GetRunReplyRunAuthorityContext
    """The origin of the run."""
    toolLayers: list[list[str]]
    """Tool patterns of the run's token, such as the agent's `tools`."""


class GetRunReplyRunAuthorityContext(TypedDict):
    """The origin of the run."""

    channel: NotRequired[str]
    """Name of the channel, such as `telegram`."""
    group: NotRequired[str]
    """The group conversation in the channel."""
    chat: NotRequired[Chat]
    """The chat that gets the answer; left out: none."""
    owner: NotRequired[bool]
    """The NATS user to whom it belongs."""
    session: NotRequired[str]
    """The session, by its key or its id."""
    model: NotRequired[str]
    """The model, as `provider/model`."""
    replayed: NotRequired[Literal[True]]
    """True when the result is the stored one of an earlier request with the same id."""
    dictatedBy: NotRequired[str]
    """The author of the model's answers: the sender of a recording or of a plan."""
    depth: NotRequired[int]
    """The number of runs above this one."""


class GetRunReplyRunCancellation(TypedDict):
    by: str
    """The user that cancelled it."""
    reason: str | None
    """Why, in words for people."""


class GetRunReplyRunChildren(TypedDict):
    runId: str
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    callId: str
    """Id of the tool call. A call that is repeated under its id returns the stored result."""
    agent: str
    """Name of the agent."""
    status: Literal["succeeded", "failed", "cancelled", "dead"] | None
    """The outcome; null while it is in progress."""


class GetRunReplyRunForkedFrom(TypedDict):
    """The run and the step that this one was copied from."""

    runId: str
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    fromStep: int
    """The first model call that is made anew, from 1."""


class GetRunReplyRunMemory(TypedDict):
    """The number of the agent's memories in the system prompt."""

    kept: int
    """All memories of the agent."""
    given: int
    """Memories in the prompt with their text."""
    named: int
    """Memories in the prompt by name alone."""
    refused: NotRequired[str]
    """The reason why the run may not read the memories; missing when it may."""


class GetRunReplyRunParent(TypedDict):
    """The run that this one works for, and its call."""

    runId: str
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    callId: str
    """Id of the tool call. A call that is repeated under its id returns the stored result."""


class GetRunReplyRunSession(TypedDict):
    """The conversation that the run belongs to."""

    sessionId: str
    """Id of the session; a reset gives the session another one."""
    key: str
    """Key of the session."""


class GetRunReplyRunSkills(TypedDict):
    name: str
    """Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -."""
    digest: str
    """SHA-256 digest that names exactly this version."""


class GetRunReplyRunSkillsCut(TypedDict):
    """Skills that lack room in the model's list; missing when there are none."""

    shortened: list[str]
    """Skills whose descriptions are cut."""
    dropped: list[str]
    """Names of the skills that were left out."""


class GetRunReplyRunToolsUnavailable(TypedDict):
    server: str
    """Id of the MCP server."""
    reason: str
    """The reason why its tools are missing."""


class GetRunReplyRunWaits(TypedDict):
    reason: Literal["approval", "child", "question", "timer", "limit", "stopped"]
    """The reason of the wait."""
    callId: str
    """Id of the tool call that waits; for a limit or a stop the run's id."""
    tool: str
    """The tool of the call; empty for a limit or a stop."""
    until: Timestamp | None
    """When it continues without an event; null: never."""
    approvalId: NotRequired[str]
    """Id of the approval."""
    childRunId: NotRequired[str]
    """Id of the run that works for this one."""
    question: NotRequired[str]
    """The question."""
    options: NotRequired[list[str]]
    """Answers to choose from; empty when any text will do."""
    schema: NotRequired[dict[str, Any]]
    """JSON Schema of the answer; missing: a text."""
    limit: NotRequired[Limit]
    """The limit that was reached."""
    stop: NotRequired[WaitStop]
    """The stop that denies it."""


# now: All runs that are under way now, whenever they began; the filters do not count.
# from: Begin of the range.
# to: End of the range, which is not part of it.
# searchedFrom: Begin of the oldest run that was looked at, where older ones were not: totals look at the newest 100,000 runs. Null when all were.
# total: Sums over all runs of the range.
# statuses: Number of runs in each state.
# agents: Sums by agent, for the 20 with the most runs; the row without a name has all others.
# models: Sums by model, for the 20 with the most runs; the row without a name has all others.
# requesters: Sums by requester, for the 20 with the most runs; the row without a name has all others.
# errors: Sums over failed and dead runs by the code of their failure, for the 20 most frequent; the row without a name has all others.
# durationMs: Percentiles of the milliseconds from begin to end, over the ended runs; null when none has ended.
# bucketMs: Milliseconds of each bucket.
# buckets: The range in equal parts, for charts: at most about 60.
GetRunTotalsReply = TypedDict(
    "GetRunTotalsReply",
    {
        "now": "GetRunTotalsReplyNow",
        "from": "Timestamp",
        "to": "Timestamp",
        "searchedFrom": "Timestamp | None",
        "total": "GetRunTotalsReplyTotal",
        "statuses": "GetRunTotalsReplyStatuses",
        "agents": "list[Agent]",
        "models": "list[Agent]",
        "requesters": "list[Agent]",
        "errors": "list[Agent]",
        "durationMs": "GetRunTotalsReplyDurationMs",
        "bucketMs": "int",
        "buckets": "list[GetRunTotalsReplyBuckets]",
    },
)


class GetRunTotalsReplyBuckets(TypedDict):
    at: Timestamp
    """Begin of the bucket."""
    runs: int
    """Runs that began in it."""
    failed: int
    """The failed and dead ones among them."""
    costUsd: float
    """Their known cost in US dollars."""


class GetRunTotalsReplyDurationMs(TypedDict):
    """Percentiles of the milliseconds from begin to end, over the ended runs; null when none has
    ended.
    """

    p50: float | None
    """Half of the ended runs took at most so long."""
    p90: float | None
    """90 % of the ended runs took at most so long."""
    p95: float | None
    """95 % of the ended runs took at most so long."""
    p99: float | None
    """99 % of the ended runs took at most so long."""
    max: float | None
    """The longest of the ended runs."""


class GetRunTotalsReplyNow(TypedDict):
    """All runs that are under way now, whenever they began; the filters do not count."""

    running: int
    """Runs that a runner has, or will take soon."""
    waiting: int
    """Runs that wait, and that no runner has."""
    suspended: int
    """The running ones that cannot continue, because a service is away."""


class GetRunTotalsReplyStatuses(TypedDict):
    """Number of runs in each state."""

    running: int
    """Runs that a runner has, or will take soon."""
    waiting: int
    """Runs that wait, and that no runner has."""
    succeeded: int
    """Runs that ended with an answer."""
    failed: int
    """Runs that failed."""
    cancelled: int
    """Runs that were cancelled."""
    dead: int
    """Runs that killed their runners."""


class GetRunTotalsReplyTotal(TypedDict):
    """Sums over all runs of the range."""

    runs: int
    """Number of runs."""
    failed: int
    """The failed and dead ones among them."""
    costUsd: float
    """Known cost of their model calls in US dollars."""
    unpriced: int
    """Runs with a model call whose price is unknown."""
    inputTokens: int
    """Input tokens of all their model calls."""
    outputTokens: int
    """Output tokens of all their model calls."""


class GetScheduleStatusReply(TypedDict):
    enabled: bool
    """True while jobs run."""
    jobs: int
    """The number of the caller's jobs."""
    limit: int
    """The most jobs that the caller may have."""
    nextWakeAtMs: int | None
    """When the next job is due, in milliseconds since 1970; null: none."""
    heartbeatMs: int
    """Interval of the heartbeat, in milliseconds; 0: none."""


class GetServerLogsReply(TypedDict):
    lines: list[str]
    """The last lines of stderr, oldest first."""
    hasProcess: NotRequired[bool]
    """False for a server that is reached over HTTP."""


class GetServerReply(TypedDict):
    server: ServerInfo
    """The MCP server: its connection and features."""
    declaration: dict[str, Any]
    """The declaration of the server; literal secrets are `[redacted]`."""
    updatedAt: Timestamp | None
    """When it was changed last; null for a server of the file."""
    version: NotRequired[str]
    """Version, for `ifVersion` or If-Match of a change."""


class GetSessionHistoryReply(TypedDict):
    sessionId: str
    """Id of the session; a reset gives the session another one."""
    sessionKey: str
    """Key of the session, unique among those of its owner."""
    messages: list[SessionMessage]
    """The messages, oldest first."""
    truncated: bool
    """True when a part was left out because it was too long."""
    droppedMessages: int
    """Messages that the history has no room for any more."""
    contentTruncated: bool
    """True when a text is cut."""
    contentRedacted: bool
    """True when credentials were masked."""
    bytes: int
    """Size of the messages as JSON, in bytes; at most 81,920."""


class GetSkillCatalogueReply(TypedDict):
    text: str
    """The list as escaped XML; empty when there is nothing to list."""
    budgetTokens: int
    """The most tokens of the list."""
    tokens: int
    """Estimated tokens."""
    wholeTokens: int
    """Estimated tokens of the list with every description whole."""
    listed: list[GetSkillCatalogueReplyListed]
    """The listed skills, by name; only these may be activated."""
    dropped: list[str]
    """Names of the skills that were left out."""
    keepForMs: NotRequired[int]
    """The time for which the reply may be reused, in milliseconds from before the request."""


class GetSkillCatalogueReplyListed(TypedDict):
    name: str
    """Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -."""
    digest: str
    """SHA-256 digest that names exactly this version."""
    tokens: int
    """Estimated tokens."""
    shortened: bool
    """True when its description is cut."""


class GetSkillReply(TypedDict):
    skill: GetSkillReplySkill
    """The skill."""
    review: NotRequired[Review]
    """The material that a person reviews before trusting a version; present when `version` was
    given.
    """
    variables: NotRequired[list[str]]
    """Placeholders of the body."""
    conformance: NotRequired[list[Conformance]]
    """Results of the checks against other formats; present only when requested."""
    dependencies: NotRequired[GetSkillReplyDependencies | None]
    """Requirements of the skill; null when it declares none."""


class GetSkillReplyDependencies(TypedDict):
    met: bool
    """True when all requirements are met on the importer's machine."""
    requirements: GetSkillReplyDependenciesRequirements
    """The requirements of the skill."""
    checks: list[GetSkillReplyDependenciesChecks]
    """The single requirements."""
    warnings: list[str]
    """Remarks that change nothing."""


class GetSkillReplyDependenciesChecks(TypedDict):
    kind: Literal["bin", "anyBin", "env", "config", "os"]
    """Kind of the requirement."""
    name: str
    """Name of the program, variable or system."""
    status: Literal["found", "missing", "not_applicable"]
    """The state of the requirement: met or not."""


class GetSkillReplyDependenciesRequirements(TypedDict):
    """The requirements of the skill."""

    bins: list[str]
    """Programs, all of which are needed."""
    anyBins: list[str]
    """Programs, one of which is needed."""
    env: list[str]
    """Environment variables."""
    config: list[str]
    """Settings of OpenClaw."""
    os: list[str]
    """Operating systems; empty: every one."""
    always: bool
    """True: the author wants the other requirements ignored."""
    primaryEnv: str | None
    """The most important variable; null without one."""
    install: list[Any]
    """The installation instructions, as written; never run."""


class GetSkillReplySkill(TypedDict):
    """The skill."""

    name: str
    """Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -."""
    description: str
    """Description for people and models."""
    digest: str
    """SHA-256 digest that names exactly this version."""
    path: str
    """Path of the file, relative to the importer's root."""
    userInvocable: bool
    """True when people may use it as a command."""
    modelInvocable: bool
    """True when models may activate it."""
    allowedTools: list[str] | None
    """Tool patterns that the skill restricts itself to; null: no restriction."""
    argumentHint: str | None
    """A hint at the command's arguments; null without one."""
    triggers: NotRequired[list[str]]
    """Other words of the file about when to use the skill."""
    repaired: NotRequired[bool]
    """True when the file's YAML is broken and was read after a repair."""
    needsReview: NotRequired[bool]
    """True when so little could be read that a person should review it."""
    version: NotRequired[str]
    """SHA-256 over paths and digests of all files."""
    scope: NotRequired[Literal["project", "user", "workspace", "imported"]]
    """The scope that the skill is from; with several of one name the earlier scope counts."""
    format: NotRequired[Literal["legacy"]]
    """`legacy`: a `skill.json` with its `prompt.md`; missing for a SKILL.md."""
    source: NotRequired[Literal["openclaw"]]
    """The source."""
    diagnostics: list[Diagnostic]
    """Remarks about the file, with their lines."""
    body: str
    """The Markdown body."""
    arguments: list[str]
    """Names of the arguments that the file declares."""
    needsBraces: NotRequired[bool]
    """True when placeholders need braces, such as `${N}`."""
    plan: Plan | None
    """Plan for the scripted provider, which is not AI; null without one."""
    record: NotRequired[GetSkillReplySkillRecord]
    """Fields of the file that other programs define."""
    dispatch: NotRequired[GetSkillReplySkillDispatch]
    """Tool that the skill's command calls directly."""


class GetSkillReplySkillDispatch(TypedDict):
    """Tool that the skill's command calls directly."""

    tool: str
    """Name of the tool."""


class GetSkillReplySkillRecord(TypedDict):
    """Fields of the file that other programs define."""

    displayName: str | None
    """Name for people; null when it is not known."""
    license: str | None
    """Licence that the file names; null without one."""
    compatibility: str | None
    """Programs that the skill is made for, as the file says; null without a value."""
    version: str | None
    """Version that the file names; null without one."""
    author: str | None
    """The author."""
    homepage: str | None
    """Address of the page about it; null without one."""
    model: str | None
    """The model, as `provider/model`."""
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None
    """The reasoning effort for models; null without a value."""
    context: Literal["fork"] | None
    """`fork`: the author wants a run of its own."""
    agent: str | None
    """Name of the agent."""
    background: bool | None
    """True: the author wants it to run in the background; null without a value."""
    shell: Literal["bash", "powershell"] | None
    """Shell of the skill's commands; null without a value."""
    paths: list[str]
    """Patterns of the files that the skill is about."""
    disallowedTools: list[str]
    """Patterns of tools that a run with the skill never calls."""
    hooks: Any
    """The value as written; it is never run."""
    openclaw: GetSkillReplySkillRecordOpenclaw | None
    """Metadata of OpenClaw; null without any."""
    unknown: dict[str, Any]
    """Fields that no format defines."""


class GetSkillReplySkillRecordOpenclaw(TypedDict):
    aliases: list[str]
    """Keys under which the metadata was found."""
    emoji: str | None
    """The reaction: a character, or the provider's name for it."""
    skillKey: str | None
    """Key of the skill in OpenClaw's configuration; null without one."""
    homepage: str | None
    """Address of the page about it; null without one."""
    envVars: list[GetSkillReplySkillRecordOpenclawEnvVars]
    """Environment variables that the skill names."""


class GetSkillReplySkillRecordOpenclawEnvVars(TypedDict):
    name: str
    """Name of the variable."""
    required: bool
    """True when the skill needs it."""
    description: str
    """Description for people and models."""


class GetSystemReply(TypedDict):
    services: list[GetSystemReplyServices]
    """The services that answer."""
    streams: list[GetSystemReplyStreams]
    """The JetStream streams."""
    readers: int
    """Streams of events that this replica of the gateway has open."""


class GetSystemReplyServices(TypedDict):
    name: str
    """Name of the service."""
    id: str
    """Id of the process."""
    version: str
    """Version of the service."""
    description: str
    """Description for people and models."""
    endpoints: list[GetSystemReplyServicesEndpoints]
    """The operations of the service."""


class GetSystemReplyServicesEndpoints(TypedDict):
    name: str
    """Name of the operation."""
    subject: str
    """Subject that the message was published on."""
    requests: float
    """Requests since the start."""
    errors: float
    """Failed requests since the start."""
    averageMs: float
    """Mean time up to the reply, in milliseconds."""


class GetSystemReplyStreams(TypedDict):
    name: str
    """Name of the stream."""
    messages: int
    """Stored messages."""
    bytes: int
    """Size in bytes."""
    maxBytes: int
    """Size limit in bytes; -1: none."""
    queues: list[GetSystemReplyStreamsQueues]
    """The queues of the stream."""


class GetSystemReplyStreamsQueues(TypedDict):
    name: str
    """Name of the queue."""
    waiting: int
    """Messages that no consumer has received yet."""
    inWork: int
    """Messages that are delivered and not acknowledged."""
    redelivered: int
    """Messages that were delivered more than once."""


class GetWebhookReply(TypedDict):
    webhook: Webhook
    """The webhook."""
    pending: int
    """Deliveries that wait for their first or next attempt."""
    dead: list[GetWebhookReplyDead]
    """Deliveries that were given up, newest first."""


class GetWebhookReplyDead(TypedDict):
    deliveryId: str
    """The `webhook-id` that the receiver got; left out in a request: all."""
    event: str
    """Name of the event."""
    at: Timestamp
    """When it happened."""
    attempts: int
    """The number of attempts."""
    error: str
    """A description of the failure, for people."""


class GitCheckout(TypedDict):
    url: str | None
    """The URL."""
    commit: str | None
    """The commit; null when it is not known."""


class Input(TypedDict):
    type: Literal["file"]
    """Selects the form of this object; its other fields depend on it."""
    ref: str
    """Id of the file: `file-` and 32 hexadecimal digits."""
    name: str
    """Name of the file for people; it is never used as a path."""
    mediaType: str
    """Media type as the bytes show it."""
    sizeBytes: int
    """Size in bytes."""
    sha256: str
    """SHA-256 of the bytes, in hexadecimal."""


class InputSchema(TypedDict):
    type: Literal["object"]
    """Selects the form of this object; its other fields depend on it."""


class JobDelivery(TypedDict):
    mode: Literal["none", "announce", "webhook"]
    """`announce` in a channel, `webhook` to a URL, or `none`."""
    channel: NotRequired[str]
    """For `announce`: the channel, or `last` for where an owner wrote last."""
    to: NotRequired[str]
    """Target in the channel, such as `user:42`; for a webhook its URL."""
    accountId: NotRequired[str]
    """Account of the channel, as channels.json names it."""
    bestEffort: NotRequired[bool]
    """True: the job succeeds even when its answer cannot be delivered."""


class JobPayload(TypedDict):
    kind: Literal["systemEvent", "agentTurn"]
    """`systemEvent` posts a text in the main session; `agentTurn` starts a run."""
    text: NotRequired[str]
    """For `systemEvent`: the text."""
    message: NotRequired[str]
    """For `agentTurn`: the input of the run."""
    model: NotRequired[str]
    """The model, as `provider/model`."""
    thinking: NotRequired[Literal["off", "none", "minimal", "low", "medium", "high", "xhigh", "max"]]
    """The reasoning effort of the model; left out or null: the default."""
    timeoutSeconds: NotRequired[int]
    """Time limit of the run in seconds; 0: the agent's own."""


class JobSchedule(TypedDict):
    kind: Literal["at", "every", "cron"]
    """`at` a time, `every` interval, or by a `cron` expression."""
    at: NotRequired[str]
    """For `at`: ISO 8601; without a zone it is UTC."""
    everyMs: NotRequired[int]
    """For `every`: the interval in milliseconds, at least 1,000."""
    anchorMs: NotRequired[int]
    """For `every`: the time to count from, in milliseconds since 1970; left out: the creation."""
    expr: NotRequired[str]
    """For `cron`: five or six fields."""
    tz: NotRequired[str]
    """For `cron`: an IANA time zone; left out: UTC."""
    staggerMs: NotRequired[int]
    """For `cron`: a stable delay below so many milliseconds."""


class LastRun(TypedDict):
    runId: str
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    status: Literal["succeeded", "failed", "cancelled", "dead"]
    """The outcome."""
    model: NotRequired[str]
    """The model, as `provider/model`."""
    contextWindow: NotRequired[int]
    """Tokens of the model's context window; null when it is not known."""
    thinking: NotRequired[Literal["off", "none", "minimal", "low", "medium", "high", "xhigh", "max"]]
    """The reasoning effort of the model; left out or null: the default."""


class Limit(TypedDict):
    limit: str
    """Name of the limit, such as `maxSteps`."""
    value: float
    """Value of the limit."""
    team: NotRequired[LimitTeam]
    """Set for a limit of all runs of one NATS user together."""


class LimitTeam(TypedDict):
    """Set for a limit of all runs of one NATS user together."""

    name: str
    """The NATS user."""
    per: Literal["hour", "day", "month"]
    """The time after which the count begins again."""


class ListAgentVersionsReply(TypedDict):
    current: str | None
    """The version that is listed; null when none is."""
    withheld: ListAgentVersionsReplyWithheld | None
    """The reason why it is stored and not listed; null when it is listed."""
    versions: list[ListAgentVersionsReplyVersions]
    """The versions, newest first."""


class ListAgentVersionsReplyVersions(TypedDict):
    digest: str
    """SHA-256 digest that names exactly this version."""
    provenance: Provenance
    """The origin of the version."""
    verdict: Verdict | None
    """The scanner's verdict; null when the version was never scanned."""
    supersededAt: Timestamp | None
    """When another version replaced it; it is deleted 45 days later. Null: it is current."""


class ListAgentVersionsReplyWithheld(TypedDict):
    digest: str
    """The withheld version."""
    reason: Literal["untrusted", "changed", "blocked"]
    """Why, in words for people."""


class ListAgentsReply(TypedDict):
    agents: list[ListAgentsReplyAgents]
    """The agents."""
    unusable: NotRequired[list[ListAgentsReplyUnusable]]
    """The errors that keep agent files of the importer's directories from loading; left out when
    all load.
    """


class ListAgentsReplyAgents(TypedDict):
    name: str
    """Name of an agent: 1-64 characters of A-Z a-z 0-9 _ -."""
    description: str
    """Description for people and models."""
    source: Literal["project", "user", "built-in", "imported"]
    """The source of the agent; `imported`: a client sent it."""
    digest: str
    """SHA-256 digest that names exactly this version."""
    model: str | None
    """The model; null: the default model."""


class ListAgentsReplyUnusable(TypedDict):
    code: str
    """Stable snake_case code of the problem."""
    message: str
    """A description of the event, for people."""
    file: str
    """Path of the file, with `/`."""
    line: int | None
    """Line in the file, from 1; null when it is about the whole file."""


class ListApprovalsReply(TypedDict):
    approvals: list[Approval]
    """The approvals, newest first."""
    next: str | None
    """`cursor` of the next page; null when this is the last one."""
    pending: int
    """The number of approvals that wait for a person."""
    decidesAll: NotRequired[bool]
    """True for a caller who decides about all calls."""


class ListAuditReply(TypedDict):
    records: list[ListAuditReplyRecords]
    """The records."""
    cursor: str | None
    """`cursor` of the next page; null when there are no more records."""


class ListAuditReplyRecords(TypedDict):
    v: Literal[1]
    """Version of the record's form."""
    service: str
    """The service that wrote it."""
    writer: str
    """Id of the process that wrote the chain."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    prev: str | None
    """Hash of the record before; null for the first one."""
    hash: str
    """SHA-256 over the record, its writer and the hash before."""
    kind: str
    """Kind of the record; its other fields depend on it."""


class ListBuiltinsReply(TypedDict):
    tools: list[ListBuiltinsReplyTools]
    """The tools."""


class ListBuiltinsReplyTools(TypedDict):
    name: str
    """Name of the tool."""
    description: str
    """Description for people and models."""
    inputSchema: InputSchema
    """JSON Schema of the arguments."""
    tier: Literal["auto", "session", "always"]
    """The approval tier of a call where no rule decides it."""


class ListChannelAccountsReply(TypedDict):
    accounts: list[ListChannelAccountsReplyAccounts]
    """The accounts."""
    problems: list[str]
    """Entries of channels.json that are not in force."""


class ListChannelAccountsReplyAccounts(TypedDict):
    channel: str
    """Name of the channel, such as `telegram`."""
    accountId: str
    """Account of the channel, as channels.json names it."""
    caller: str
    """The user in whose name its messages become runs."""
    agent: str | None
    """The agent that answers; null: none."""
    inbound: Literal["connected", "connecting", "standby", "error", "none"]
    """State of the connection for incoming messages; `standby`: another replica has it."""
    problem: str | None
    """The reason of this state, without secrets; null without a problem."""
    capabilities: ChannelCapabilities
    """The supported features."""


class ListChatLinksReply(TypedDict):
    links: list[ChatLink]
    """The links, those that end first before the others."""


class ListDeadRunsReply(TypedDict):
    runs: list[ListDeadRunsReplyRuns]
    """The runs, newest first."""
    letters: NotRequired[list[ListDeadRunsReplyLetters]]
    """Commands that were given up before they became a run."""
    next: str | None
    """`cursor` of the next page; null when this is the last one."""


class ListDeadRunsReplyLetters(TypedDict):
    runId: str
    """The run that the command names or would have become."""
    subject: str
    """Subject that the message was published on."""
    caller: str
    """The NATS user that a credential or a subject stands for."""
    streamSequence: int
    """Position of the command in its stream; 0 for a request that was no command."""
    sentAt: Timestamp
    """When it was sent; null for a dry run."""
    failure: RunFailure
    """The reason of the failure: a code and a message."""
    id: NotRequired[str]
    """Id for `runs.redrive`."""
    canRedrive: NotRequired[bool]
    """True when its text was stored, so that it can be sent again."""


class ListDeadRunsReplyRuns(TypedDict):
    runId: str
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    agent: str
    """Name of the agent."""
    requester: str
    """The NATS user whose command started the run."""
    model: str
    """The model, as `provider/model`."""
    status: Literal["running", "waiting", "succeeded", "failed", "cancelled", "dead"]
    """Always `dead`."""
    steps: int
    """Model calls so far."""
    toolCalls: int
    """Tool calls so far."""
    createdAt: Timestamp
    """When it was created."""
    updatedAt: Timestamp
    """When it changed last."""
    attempts: int
    """The number of times a runner picked the run up; 0 until one has."""
    labels: dict[str, str]
    """Labels that the command gave the run."""
    usage: NotRequired[Usage]
    """Tokens of the model calls."""
    costUsd: NotRequired[float | None]
    """Cost of the model calls in US dollars; null when the price of a model is unknown."""
    waitsFor: NotRequired[list[Literal["approval", "child", "question", "timer", "limit", "stopped"]]]
    """Reasons for `waiting`, each once."""
    suspended: NotRequired[str]
    """With `running`: what keeps the run from continuing. The runner retries."""
    inputStart: NotRequired[str]
    """The first 200 characters of the input, in one line."""
    errorCode: NotRequired[str]
    """With `failed` and `dead`: the code of the failure."""
    failure: RunFailure
    """The reason of the failure: a code and a message."""


class ListGrantsReply(TypedDict):
    grants: list[SessionGrant]
    """The standing approvals."""


class ListHooksReply(TypedDict):
    hooks: list[ListHooksReplyHooks]
    """The hooks."""


class ListHooksReplyHooks(TypedDict):
    name: str
    """Name of the hook, the last part of its address."""
    agent: str
    """Name of the agent."""
    signature: Literal["standard", "github"]
    """The signature scheme of requests."""
    events: list[str] | None
    """Events that start a run; null: all."""


class ListMemoriesReply(TypedDict):
    memories: list[ListMemoriesReplyMemories]
    """The memories, by name."""


class ListMemoriesReplyMemories(TypedDict):
    name: str
    """Name of the memory."""
    bytes: int
    """Size in bytes."""
    preview: str
    """The beginning of the text, at most 1 KiB."""


class ListModelsReply(TypedDict):
    default: str
    """The model of agents that name none."""
    providers: list[ListModelsReplyProviders]
    """The providers of models."""


class ListModelsReplyProviders(TypedDict):
    name: str
    """The part of a model's name before the first slash."""
    type: str
    """Kind of the provider; `scripted` is not AI."""
    hasKey: bool
    """False when the provider needs a key that the runner does not have."""
    keyVariable: NotRequired[str]
    """Environment variable that the key is read from."""


class ListPinsReply(TypedDict):
    pins: list[ToolPin]
    """The pins, by tool."""
    more: bool
    """True when there are more than those listed."""


class ListPolicyRulesReply(TypedDict):
    policyDigest: str
    """Digest of the rules in force."""
    rules: list[ListPolicyRulesReplyRules]
    """The rules, by id."""
    results: NotRequired[list[ListPolicyRulesReplyResults]]
    """The rules about results, in the first page alone."""
    next: str | None
    """`cursor` of the next page; null when this is the last one."""


class ListPolicyRulesReplyResults(TypedDict):
    id: str
    """Id of the rule."""
    effect: Literal["mask", "deny"]
    """The effect on the result: it is masked or withheld."""
    who: str
    """Whom the rule is about, in words."""
    what: str
    """Kind of the repeated records."""
    finds: str
    """The kinds of content that the rule looks for."""


class ListPolicyRulesReplyRules(TypedDict):
    id: str
    """Id of the rule."""
    effect: Literal["allow", "deny"]
    """The decision: `allow`, `deny`, or `ask` when a person has to approve the call."""
    tier: NotRequired[Literal["auto", "session", "always"]]
    """The approval tier of the call: `auto` needs no person, `session` one approval for a while,
    `always` one each time.
    """
    approve: NotRequired[str]
    """The people who have to approve, in words; absent when one person who may approve calls is
    enough.
    """
    who: str
    """Whom the rule is about, in words."""
    what: str
    """Kind of the repeated records."""
    when: list[str]
    """Conditions that the arguments must meet, in words; empty for any arguments."""
    unmask: NotRequired[str]
    """Kinds of masked values that the tool gets."""
    note: str | None
    """A remark for people, one line."""


class ListPolicyVersionsReply(TypedDict):
    policyDigest: str
    """Digest of the rules in force."""
    followsFiles: bool
    """True while the files on disk are followed."""
    filesRefused: NotRequired[list[str] | None]
    """The reason why the files on disk cannot come into force; null when they can."""
    versions: list[PolicyVersion]
    """The versions, newest first."""


class ListPromptsReply(TypedDict):
    prompts: list[ListPromptsReplyPrompts]
    """The prompts."""
    more: bool
    """True when there are more than those listed."""


class ListPromptsReplyPrompts(TypedDict):
    name: str
    """Name of the prompt."""


class ListResourceTemplatesReply(TypedDict):
    templates: list[ListResourceTemplatesReplyTemplates]
    """The resource templates."""
    more: bool
    """True when there are more than those listed."""


class ListResourceTemplatesReplyTemplates(TypedDict):
    uriTemplate: str
    """URI template (RFC 6570)."""
    name: str
    """Name of the template."""


class ListResourcesReply(TypedDict):
    resources: list[ListResourcesReplyResources]
    """The resources."""
    more: bool
    """True when there are more than those listed."""


class ListResourcesReplyResources(TypedDict):
    uri: str
    """URI of the resource."""
    name: str
    """Name of the resource."""


class ListRunQuestionsReply(TypedDict):
    questions: list[ListRunQuestionsReplyQuestions]
    """The questions, newest first."""
    next: str | None
    """`cursor` of the next page; null when this is the last one."""


class ListRunQuestionsReplyQuestions(TypedDict):
    runId: str
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    callId: str
    """Id of the tool call. A call that is repeated under its id returns the stored result."""
    question: str
    """The question."""
    options: list[str]
    """Answers to choose from; empty when any text will do."""
    schema: NotRequired[dict[str, Any]]
    """JSON Schema of the answer; missing: a text."""
    until: Timestamp
    """When the run continues without an answer."""
    requester: str
    """The NATS user whose command started the run."""
    agent: str
    """Name of the agent."""


class ListRunsReply(TypedDict):
    runs: list[ListRunsReplyRuns]
    """The runs, newest first."""
    next: str | None
    """`cursor` of the next page; null when this is the last one."""
    searchedFrom: NotRequired[Timestamp | None]
    """Begin of the oldest run that was looked at, where older ones were not: the orders `longest`
    and `dearest` look at the newest 100,000 runs. Null when all were.
    """


class ListRunsReplyRuns(TypedDict):
    runId: str
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    agent: str
    """Name of the agent."""
    requester: str
    """The NATS user whose command started the run."""
    model: str
    """The model; null until a runner has begun the run."""
    status: Literal["running", "waiting", "succeeded", "failed", "cancelled", "dead"]
    """`waiting`: no runner holds it. `dead`: it killed its runners; a retry continues it."""
    steps: int
    """Model calls so far."""
    toolCalls: int
    """Tool calls so far."""
    createdAt: Timestamp
    """When it was created."""
    updatedAt: Timestamp
    """When it changed last."""
    attempts: int
    """The number of times a runner picked the run up; 0 until one has."""
    labels: dict[str, str]
    """Labels that the command gave the run."""
    usage: NotRequired[Usage]
    """Tokens of the model calls."""
    costUsd: NotRequired[float | None]
    """Cost of the model calls in US dollars; null when the price of a model is unknown."""
    waitsFor: NotRequired[list[Literal["approval", "child", "question", "timer", "limit", "stopped"]]]
    """Reasons for `waiting`, each once."""
    suspended: NotRequired[str]
    """With `running`: what keeps the run from continuing. The runner retries."""
    inputStart: NotRequired[str]
    """The first 200 characters of the input, in one line."""
    errorCode: NotRequired[str]
    """With `failed` and `dead`: the code of the failure."""


class ListSchedulesReply(TypedDict):
    jobs: list[ScheduleJob]
    """The jobs."""
    total: int
    """The number of entries without the limit of the page."""
    offset: int
    """The requested offset."""
    limit: int
    """The requested limit."""
    hasMore: bool
    """True when there is another page."""
    nextOffset: int | None
    """`offset` of the next page; null when this is the last one."""
    next: str | None
    """`cursor` of the next page; null when this is the last one."""


class ListServerMessagesReply(TypedDict):
    messages: list[ListServerMessagesReplyMessages]
    """The messages, oldest first."""
    dropped: int
    """Messages that exceeded the limit per second and were dropped."""


class ListServerMessagesReplyMessages(TypedDict):
    at: Timestamp
    """When it happened."""
    level: Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
    """Severity, from the least to the worst."""
    logger: str | None
    """Name of the logger; null without one."""
    text: str
    """The message; secrets of the configuration are removed, and it is cut."""


class ListServerQuestionsReply(TypedDict):
    questions: list[Question]
    """The questions, newest first."""


class ListServerSecretsReply(TypedDict):
    secrets: list[Secret]
    """The secrets, by name."""


class ListServersReply(TypedDict):
    servers: list[ServerInfo]
    """The MCP servers."""


class ListSessionsReply(TypedDict):
    count: int
    """The number of entries."""
    sessions: list[ListSessionsReplySessions]
    """The sessions."""
    next: str | None
    """`cursor` of the next page; null when this is the last one."""


class ListSessionsReplySessions(TypedDict):
    sessionId: str
    """Id of the session; a reset gives the session another one."""
    key: str
    """Key of the session."""
    owner: str
    """The NATS user to whom it belongs."""
    kind: Literal["main", "group", "cron", "hook", "node", "other"]
    """Selects the form of this object; its other fields depend on it."""
    label: str | None
    """Name for people; null without one."""
    title: NotRequired[str]
    """First words of the first message, a name for people; missing before the first message."""
    agent: str
    """Name of the agent."""
    model: str | None
    """The model that replaces the agent's; null: none."""
    skillsOff: list[str]
    """Skills that are switched off for runs of the session."""
    onBusy: Literal["enqueue", "steer", "interrupt", "reject"]
    """The treatment of a message while another run of the session is in progress."""
    version: NotRequired[str]
    """Version, for `ifVersion` or If-Match of a change."""
    createdAt: Timestamp
    """When it was created."""
    updatedAt: Timestamp
    """When it changed last."""
    endsAt: Timestamp
    """When it ends unless it is used before."""
    messages: int
    """Messages in the history."""
    droppedMessages: int
    """Messages that the history has no room for any more."""
    bytes: int
    """Size of the history in bytes."""
    activeRun: str | None
    """The run in progress; null when there is none."""
    queued: int
    """Messages that wait for it to end."""
    lastRun: LastRun | None
    """The run that ended last; null before the first one ended."""
    totalTokens: int
    """Input and output tokens of all runs of the session."""
    history: NotRequired[list[SessionMessage]]
    """The last messages, oldest first."""


class ListSkillManifestsReply(TypedDict):
    skills: list[ListSkillManifestsReplySkills]
    """The skills, by name."""
    total: int
    """The number of entries without the limit of the page."""
    nextOffset: int | None
    """`offset` of the next page; null when this is the last one."""


class ListSkillManifestsReplySkills(TypedDict):
    manifest: ListSkillManifestsReplySkillsManifest
    """The skill as a plugin registry shows it."""
    command: ListSkillManifestsReplySkillsCommand
    """The command that people type."""
    digest: str
    """Digest of all files."""
    instructions: str
    """The text of the instructions."""
    warnings: list[str]
    """Remarks that change nothing."""
    dependenciesMet: bool
    """True when its requirements are met; null when it declares none."""
    sourcePath: str
    """Directory of the skill, relative to the importer's root."""
    registration: ListSkillManifestsReplySkillsRegistration
    """The way the skill was registered."""


class ListSkillManifestsReplySkillsCommand(TypedDict):
    """The command that people type."""

    name: str
    """The command with its slash."""
    argumentHint: str | None
    """A hint at the command's arguments; null without one."""
    available: bool
    """False when the skill is not for people or its name is taken."""
    shadowedBy: str | None
    """The command that already has the name; null when it is free."""


class ListSkillManifestsReplySkillsManifest(TypedDict):
    """The skill as a plugin registry shows it."""

    id: str
    """`openclaw-skill-` and the name."""
    name: str
    """Name of the skill."""
    version: str
    """Version that the file names."""
    author: str | None
    """Author of the skill; null when it names none."""
    description: str
    """Description for people and models."""
    category: Literal["tools"]
    """Category in the registry."""
    icon: Literal["Plug"]
    """Icon in the registry."""
    source: Literal["openclaw", "agent-skills"]
    """Format of the file."""
    tools: list[ListSkillManifestsReplySkillsManifestTools]
    """The tool that stands for the skill."""
    keywords: list[str]
    """Words to find it by."""


class ListSkillManifestsReplySkillsManifestTools(TypedDict):
    name: str
    """Name of the tool."""
    description: str
    """Description for people and models."""
    parameters: dict[str, Any]
    """JSON Schema of the arguments."""
    dispatch: Literal["skill", "tool"]
    """The way a command is executed; `tool`: the call goes straight to the tool."""


class ListSkillManifestsReplySkillsRegistration(TypedDict):
    """The way the skill was registered."""

    source: Literal["local"]
    """Always `local`."""
    installer: Literal["openclaw-importer"]
    """Always `openclaw-importer`."""


class ListSkillVersionsReply(TypedDict):
    current: str | None
    """The version that is listed; null when none is."""
    withheld: ListSkillVersionsReplyWithheld | None
    """The reason why it is stored and not listed; null when it is listed."""
    versions: list[ListSkillVersionsReplyVersions]
    """The versions, newest first."""


class ListSkillVersionsReplyVersions(TypedDict):
    version: str
    """SHA-256 over paths and digests of all files, to which runs are pinned."""
    digest: str
    """SHA-256 of the SKILL.md."""
    provenance: Provenance
    """The origin of the version."""
    verdict: Verdict | None
    """The scanner's verdict; null when the version was never scanned."""
    files: list[ListSkillVersionsReplyVersionsFiles]
    """The files."""
    supersededAt: Timestamp | None
    """When another version replaced it; it is deleted 45 days later. Null: it is current."""


class ListSkillVersionsReplyVersionsFiles(TypedDict):
    path: str
    """Path relative to the directory, with `/`."""
    sizeBytes: int
    """Size in bytes."""
    digest: str
    """SHA-256 digest that names exactly this version."""


class ListSkillVersionsReplyWithheld(TypedDict):
    version: str
    """The withheld version."""
    reason: Literal["untrusted", "changed", "blocked"]
    """Why, in words for people."""


class ListStopsReply(TypedDict):
    stops: list[Stop]
    """The stops in force."""


class ListTokenKeysReply(TypedDict):
    keys: list[ListTokenKeysReplyKeys]
    """The keys."""
    publicKeys: NotRequired[list[ListTokenKeysReplyPublicKeys]]
    """Public halves of the keys as JWK members (RFC 8037)."""


class ListTokenKeysReplyKeys(TypedDict):
    kid: str
    """Id of the key that signed."""
    use: Literal["signs", "next", "accepted"]
    """`signs` now, signs `next`, or is still `accepted`."""
    revoked: bool
    """True when the key is revoked."""


class ListTokenKeysReplyPublicKeys(TypedDict):
    kid: str
    """Id of the key that signed."""
    x: str
    """The public key in base64url (RFC 8037)."""


class ListUserKeysReply(TypedDict):
    keys: list[UserKey]
    """The keys."""


class ListUserSessionsReply(TypedDict):
    sessions: list[UserSession]
    """The sessions."""


class ListWebhooksReply(TypedDict):
    webhooks: list[Webhook]
    """The webhooks of the caller."""


class ListWithheldSkillsReply(TypedDict):
    withheld: list[ListWithheldSkillsReplyWithheld]
    """The withheld skills and agents."""


class ListWithheldSkillsReplyWithheld(TypedDict):
    kind: Literal["skill", "agent"]
    """The kind: a skill or an agent."""
    name: str
    """Name of the skill or agent."""
    description: str
    """Description for people and models."""
    version: str
    """The withheld version."""
    reason: Literal["untrusted", "changed", "blocked"]
    """The reason why it is not listed."""
    root: str
    """Root of the importer that has the file."""
    file: str
    """Path of the file, with `/`."""


class MatchSkillsReply(TypedDict):
    matches: list[MatchSkillsReplyMatches]
    """The skills that fit, best first."""
    searched: int
    """The number of searched skills."""


class MatchSkillsReplyMatches(TypedDict):
    name: str
    """Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -."""
    description: str
    """Description for people and models."""
    digest: str
    """SHA-256 digest that names exactly this version."""
    score: float
    """The score of the match; comparable within one reply only."""
    terms: list[str]
    """Words of the text that the skill has."""


class NewUserKey(TypedDict):
    key: str
    """The API key. It is shown here and never again."""
    info: UserKey
    """The facts about it, without secrets."""


class Plan(TypedDict):
    steps: list[PlanSteps]
    """The steps, in order."""
    answer: str
    """The answer after the last step."""
    delayMs: NotRequired[int]
    """Pause before the answer begins, in milliseconds."""
    chunkDelayMs: NotRequired[int]
    """Pause before each piece of text, in milliseconds."""
    chunkChars: NotRequired[int]
    """Characters of a piece of text."""


# at: JSON pointer of the value, such as `/last/isError`.
# equals: The value that must be there.
# contains: A text that the value must contain.
# not: True: the condition is inverted.
PlanCondition = TypedDict(
    "PlanCondition",
    {
        "at": "str",
        "equals": "NotRequired[str | float | bool | None]",
        "contains": "NotRequired[str]",
        "not": "NotRequired[bool]",
    },
)


class PlanSteps(TypedDict):
    when: NotRequired[PlanCondition]
    """The step is passed over unless this holds."""
    say: NotRequired[str]
    """Text of the model beside its calls."""
    calls: list[PlanStepsCalls]
    """Tool calls of the step."""
    answer: NotRequired[str]
    """Ends the run with this answer, in place of calls."""
    repeat: NotRequired[PlanStepsRepeat]
    """Plays the step again while its condition holds."""
    fail: NotRequired[PlanStepsFail]
    """A failure of the provider on purpose."""
    delayMs: NotRequired[int]
    """Pause before the answer begins, in milliseconds."""
    chunkDelayMs: NotRequired[int]
    """Pause before each piece of text, in milliseconds."""
    chunkChars: NotRequired[int]
    """Characters of a piece of text."""


# tool: Canonical tool name, or a built-in such as `skill`.
# with: Arguments of the call, by name.
# raw: Arguments as the model writes them, in place of `with`.
# as: Name under which the result is stored.
PlanStepsCalls = TypedDict(
    "PlanStepsCalls",
    {
        "tool": "str",
        "with": "dict[str, Any]",
        "raw": "NotRequired[str]",
        "as": "NotRequired[str]",
    },
)


class PlanStepsFail(TypedDict):
    """A failure of the provider on purpose."""

    how: Literal["rate-limit", "overloaded", "bad-request", "cut", "silence"]
    """Kind of the failure."""
    times: int
    """The maximum number of times."""
    retryAfterMs: NotRequired[int]
    """For `rate-limit`: the value of Retry-After, in milliseconds."""


# while: The condition.
# times: The maximum number of times.
PlanStepsRepeat = TypedDict(
    "PlanStepsRepeat",
    {
        "while": "PlanCondition",
        "times": "int",
    },
)


class PolicyActivated(TypedDict):
    active: PolicyVersion
    """The version in force."""
    previous: PolicyVersion | None
    """The version that was in force before; null when there was none."""


# in: The location of the problem: in the rules or in the tests.
# file: Path of the file, with `/`.
# line: Line in the file, from 1; null when it is about the whole file.
# column: Column in the line, from 1; null when it is about the whole line.
# message: A description of the event, for people.
PolicyProblem = TypedDict(
    "PolicyProblem",
    {
        "in": 'Literal["bundle", "tests"]',
        "file": "NotRequired[str]",
        "line": "int",
        "column": "int",
        "message": "str",
    },
)


class PolicyTextFile(TypedDict):
    name: str
    """File name without directories; `.test.yaml` marks tests."""
    text: str
    """The YAML text."""


class PolicyVersion(TypedDict):
    version: int
    """Number of the version, from 1; never used twice."""
    policyDigest: str
    """Digest of the rules in force."""
    rules: int
    """The number of rules in the bundle."""
    source: Literal["file", "activated"]
    """`file`: from disk; `activated`: sent by an admin."""
    by: str | None
    """The user that activated it; null for files on disk."""
    at: Timestamp
    """When it happened."""
    note: str | None
    """A remark for people, one line."""


class Presentation(TypedDict):
    args: str
    """Canonical JSON of the arguments; secrets are replaced by length and digest."""
    argsBytes: int
    """Size of all arguments, in bytes."""
    isCut: bool
    """True when `args` is not complete."""
    hasHiddenCharacters: bool
    """True when invisible characters were written as escapes."""
    hasRedactions: bool
    """True when secrets were masked."""
    changes: list[PresentationChanges] | None
    """Differences from the last approved call of the tool; null when there was none."""


class PresentationChanges(TypedDict):
    pointer: str
    """JSON pointer of the value."""
    before: str | None
    """The value before; null when there was none."""
    after: str | None
    """The value after; null when there is none."""


class Principal(TypedDict):
    user: str
    """The NATS user that it is about."""
    agent: str | None
    """The agent; null when a person or a program calls the tool directly."""
    runId: str | None
    """The run; null when a person or a program calls the tool directly."""
    roles: NotRequired[list[str]]
    """The roles, each once."""
    approval: NotRequired[Literal["auto", "session", "always"]]
    """The least approval that each call needs from people."""
    context: NotRequired[RunContext]
    """The origin of the run."""


class Provenance(TypedDict):
    source: Literal["root", "upload", "archive"]
    """`root`: a directory of the importer. `upload` or `archive`: a client sent it."""
    label: str
    """The directory, or the sender's name for the source."""
    by: str
    """The NATS user that did it."""
    at: Timestamp
    """When it happened."""
    git: ProvenanceGit | None
    """The git checkout that contained the files; null without one."""


class ProvenanceGit(TypedDict):
    url: str | None
    """The repository, without user and password; null when it is not known."""
    commit: str | None
    """The commit; null when it is not known."""


class Question(TypedDict):
    id: str
    """Id of the question."""
    server: str
    """Id of the MCP server."""
    state: Literal["pending", "accepted", "declined", "cancelled", "expired", "lost"]
    """`pending` until one of the others; `lost`: the request or connection ended."""
    mode: Literal["form", "url"]
    """`form` asks for fields; `url` asks to open an address."""
    message: str
    """The server's words. Show them as the server's."""
    form: QuestionForm | None
    """The fields to fill in; null for an address."""
    url: str | None
    """The address to open; null for a form."""
    askedFor: list[Principal]
    """Principals of the requests that the server works on; their users may answer."""
    askedAt: Timestamp
    """When the question came."""
    expiresAt: Timestamp
    """When it ends; from then on it has no effect."""
    endedAt: Timestamp | None
    """When it ended; null while it is pending."""
    answeredBy: str | None
    """The user that answered; null before."""


class QuestionChoice(TypedDict):
    const: str
    """The value."""
    title: NotRequired[str]
    """Title for people."""


class QuestionForm(TypedDict):
    fields: dict[str, QuestionFormFieldsValueString | QuestionFormFieldsValueString2 | QuestionFormFieldsValueString3 | QuestionFormFieldsValue | QuestionFormFieldsValueBoolean | QuestionFormFieldsValueArray]
    """The fields, by name."""
    required: list[str]
    """Names of the required fields."""


class QuestionFormFieldsValue(TypedDict):
    title: NotRequired[str]
    """Title for people."""
    description: NotRequired[str]
    """Description for people and models."""
    type: Literal["number", "integer"]
    """Selects the form of this object; its other fields depend on it."""
    minimum: NotRequired[float]
    """The least value."""
    maximum: NotRequired[float]
    """The greatest value."""
    default: NotRequired[float]
    """The value when none is given."""


class QuestionFormFieldsValueArray(TypedDict):
    title: NotRequired[str]
    """Title for people."""
    description: NotRequired[str]
    """Description for people and models."""
    type: Literal["array"]
    """Selects the form of this object; its other fields depend on it."""
    minItems: NotRequired[int]
    """The fewest values."""
    maxItems: NotRequired[int]
    """The most values."""
    items: QuestionFormFieldsValueArrayItems | QuestionFormFieldsValueArrayItems2
    """The permitted values."""
    default: NotRequired[list[str]]
    """The value when none is given."""


class QuestionFormFieldsValueArrayItems(TypedDict):
    enum: list[str]
    """The permitted values."""


class QuestionFormFieldsValueArrayItems2(TypedDict):
    anyOf: list[QuestionChoice]
    """The choices."""


class QuestionFormFieldsValueBoolean(TypedDict):
    title: NotRequired[str]
    """Title for people."""
    description: NotRequired[str]
    """Description for people and models."""
    type: Literal["boolean"]
    """Selects the form of this object; its other fields depend on it."""
    default: NotRequired[bool]
    """The value when none is given."""


class QuestionFormFieldsValueString(TypedDict):
    title: NotRequired[str]
    """Title for people."""
    description: NotRequired[str]
    """Description for people and models."""
    type: Literal["string"]
    """Selects the form of this object; its other fields depend on it."""
    oneOf: list[QuestionChoice]
    """The choices."""
    default: NotRequired[str]
    """The value when none is given."""


class QuestionFormFieldsValueString2(TypedDict):
    title: NotRequired[str]
    """Title for people."""
    description: NotRequired[str]
    """Description for people and models."""
    type: Literal["string"]
    """Selects the form of this object; its other fields depend on it."""
    enum: list[str]
    """The permitted values."""
    enumNames: NotRequired[list[str]]
    """Titles of the permitted values, in their order."""
    default: NotRequired[str]
    """The value when none is given."""


class QuestionFormFieldsValueString3(TypedDict):
    title: NotRequired[str]
    """Title for people."""
    description: NotRequired[str]
    """Description for people and models."""
    type: Literal["string"]
    """Selects the form of this object; its other fields depend on it."""
    minLength: NotRequired[int]
    """The least characters."""
    maxLength: NotRequired[int]
    """The most characters."""
    format: NotRequired[Literal["email", "uri", "date", "date-time"]]
    """Format of the text."""
    default: NotRequired[str]
    """The value when none is given."""


class ReachedLimit(TypedDict):
    limit: str
    """Name of the limit, such as `maxSteps`."""
    value: float
    """Value of the limit."""
    team: NotRequired[LimitTeam]
    """Set for a limit of all runs of one NATS user together."""


class ReadChannelMessagesReply(TypedDict):
    address: Address
    """The address."""
    messages: list[ReadChannelMessagesReplyMessages]
    """The messages, oldest first."""


class ReadChannelMessagesReplyMessages(TypedDict):
    messageId: str
    """Id of the message at its provider."""
    author: ReadChannelMessagesReplyMessagesAuthor
    """The author."""
    text: str
    """The text."""
    at: Timestamp
    """When it happened."""
    isOwn: bool
    """True for a message that this account sent."""
    replyToMessageId: NotRequired[str]
    """The message that this one replies to."""
    threadId: NotRequired[str]
    """Id of the thread; missing outside of threads."""
    attachments: list[ReadChannelMessagesReplyMessagesAttachments]
    """Attached files."""
    reactions: NotRequired[list[str]]
    """The accepted form of an emoji."""
    isPinned: NotRequired[bool]
    """True when the message is pinned in its chat."""


class ReadChannelMessagesReplyMessagesAttachments(TypedDict):
    name: NotRequired[str]
    """Name of the file; missing when the provider gives none."""
    mimeType: NotRequired[str]
    """Media type, such as `image/png`."""


class ReadChannelMessagesReplyMessagesAuthor(TypedDict):
    """The author."""

    id: str
    """Id at the provider."""
    name: NotRequired[str]
    """Name for people."""


class ReadPolicyTextsReply(TypedDict):
    version: int
    """Number of the newest version; 0 when none is stored."""
    policyDigest: str
    """Digest of the rules in force."""
    files: list[PolicyTextFile]
    """Files of the rules in force and of their tests."""


class ReadResourceReply(TypedDict):
    contents: list[ReadResourceReplyContents]
    """The contents of the resource."""
    _meta: NotRequired[dict[str, Any]]
    """Metadata of an MCP message, beside its content."""
    decision: Decision
    """The policy's decision."""


class ReadResourceReplyContents(TypedDict):
    uri: str
    """URI of the resource."""
    mimeType: NotRequired[str]
    """Media type, such as `image/png`."""
    text: NotRequired[str]
    """The text; missing for bytes."""
    blob: NotRequired[str]
    """The bytes in base64; missing for text."""


class ReadSkillFileReply(TypedDict):
    version: str
    """Version, for `ifVersion` or If-Match of a change."""
    path: str
    """Path relative to the directory, with `/`."""
    sizeBytes: int
    """Size in bytes."""
    digest: str
    """Digest of the file."""
    base64: str
    """The bytes in base64."""
    nextOffset: int | None
    """`offset` of the next part; null at the end."""


class RecordedAnswer(TypedDict):
    request: RecordedAnswerRequest
    """Digests of the request to the model."""
    content: list[RecordedAnswerContent | RecordedAnswerContentToolCall]
    """Parts of the answer."""
    finishReason: Literal["stop", "length", "content-filter", "tool-calls", "error", "other"]
    """The reason why the model ended its answer."""
    usage: RecordedUsage
    """Tokens of the model calls."""
    servedModel: str
    """The model that answered, as its provider names it."""


class RecordedAnswerContent(TypedDict):
    type: Literal["text", "reasoning"]
    """Selects the form of this object; its other fields depend on it."""
    text: str
    """The text."""


class RecordedAnswerContentToolCall(TypedDict):
    type: Literal["tool-call"]
    """Selects the form of this object; its other fields depend on it."""
    toolCallId: str
    """Id that the model gave the tool call."""
    tool: str
    """Name of the tool."""
    input: Any
    """Arguments of the tool call."""


class RecordedAnswerRequest(TypedDict):
    """Digests of the request to the model."""

    instructions: str
    """Digest of the system prompt."""
    messages: int
    """The number of messages in the request."""
    earlier: str
    """Digest of the messages before the previous answer and of that answer."""
    since: list[str]
    """Digests of the messages since the answer before."""


class RecordedSummary(TypedDict):
    upTo: int
    """The number of answers that it replaces."""
    text: str
    """The summary."""
    usage: RecordedUsage
    """Tokens of the model calls."""


class RecordedUsage(TypedDict):
    inputTokens: int
    """Tokens of the prompts."""
    outputTokens: int
    """Tokens of the answers."""


class RedeliverWebhookReply(TypedDict):
    webhook: Webhook
    """The webhook."""
    redelivered: int
    """The number of deliveries that are sent again."""


class RedriveRunReply(TypedDict):
    runId: str
    """The run that the command becomes."""
    outcome: Literal["sent", "repeated"]
    """`repeated`: it had been sent again before, and nothing happens."""


class RefreshToolsReply(TypedDict):
    toolCount: int
    """The number of tools that the server lists."""


class RemoveAgentReply(TypedDict):
    name: str
    """Name of an agent: 1-64 characters of A-Z a-z 0-9 _ -."""
    digest: str
    """SHA-256 digest that names exactly this version."""
    current: str | None
    """The version that has the name now, such as a built-in agent; null: none."""


class RemovePushReply(TypedDict):
    isOn: Literal[False]
    """Always false."""


class RemoveScheduleReply(TypedDict):
    jobId: str
    """Id of the job."""
    removed: bool
    """False when there was no such job."""


class RemoveServerReply(TypedDict):
    removed: Literal[True]
    """Always true."""
    server: str
    """Id of the MCP server."""


class RemoveWebhookReply(TypedDict):
    id: str
    """Id of the webhook."""
    removed: Literal[True]
    """Always true."""


class ReplayDecisionsDecisions(TypedDict):
    principal: ReplayDecisionsDecisionsPrincipal
    """For whom the policy decides: a user, or a run of a user."""
    access: Literal["tool", "resource", "prompt", "sampling", "elicitation", "logging"]
    """The kind of request; missing means a tool call."""
    tool: ToolRef
    """The tool: its canonical name, its server and its name there."""
    server: NotRequired[ServerFacts]
    """Facts about the tool's server, from its declaration."""
    layers: NotRequired[list[list[str]] | None]
    """Tool patterns of the run token; null when the audit does not have them."""
    args: NotRequired[dict[str, Any]]
    """Arguments of the call, by name."""
    values: NotRequired[ReplayDecisionsDecisionsValues]
    """Digests of the arguments, and where the setting turns that on the arguments encrypted."""
    argsDigest: NotRequired[str]
    """Digest of the arguments as canonical JSON."""
    at: NotRequired[Timestamp]
    """When it happened."""


class ReplayDecisionsDecisionsPrincipal(TypedDict):
    """For whom the policy decides: a user, or a run of a user."""

    user: str
    """The NATS user that it is about."""
    agent: str | None
    """The agent; null when a person or a program calls the tool directly."""
    runId: str | None
    """The run; null when a person or a program calls the tool directly."""
    roles: NotRequired[list[str]]
    """The roles, each once."""
    approval: NotRequired[Literal["auto", "session", "always"]]
    """The least approval that each call needs from people."""
    context: NotRequired[RunContext]
    """The origin of the run."""


class ReplayDecisionsDecisionsValues(TypedDict):
    """Digests of the arguments, and where the setting turns that on the arguments encrypted."""

    key: str
    """Identifies the key of the digests."""
    digests: dict[str, str]
    """By JSON pointer, the letter of a value's type and behind it its digest."""
    isCut: NotRequired[Literal[True]]
    """Present when the call had more arguments."""
    sealed: NotRequired[str]
    """The arguments, encrypted."""


class ReplayDecisionsReply(TypedDict):
    policyDigest: str | None
    """Digest of the replayed bundle; null when it has problems."""
    problems: list[PolicyProblem]
    """The problems: the path of each value, and its problem."""
    results: list[ReplayDecisionsReplyResultsDecided | ReplayDecisionsReplyResultsUnknown]
    """Results in the order of the request; null when the text has problems."""


class ReplayDecisionsReplyResultsDecided(TypedDict):
    kind: Literal["decided"]
    """Selects the form of this object; its other fields depend on it."""
    effect: Literal["allow", "deny", "ask"]
    """The decision: `allow`, `deny`, or `ask` when a person has to approve the call."""
    tier: NotRequired[Literal["auto", "session", "always"]]
    """The approval tier of the call: `auto` needs no person, `session` one approval for a while,
    `always` one each time.
    """
    rule: str | None
    """Id of the rule that decided; null when no rule matched."""
    reason: str
    """Why, in words for people."""


class ReplayDecisionsReplyResultsUnknown(TypedDict):
    kind: Literal["unknown"]
    """Selects the form of this object; its other fields depend on it."""
    needs: Literal["arguments", "values", "right", "key", "layers", "time", "history"]
    """The facts that a result lacks: `arguments`, `values` (digests do not answer the condition),
    `right` (to read encrypted values), `key` (of the digests), `layers`, `time` or `history`.
    """
    about: NotRequired[str]
    """The condition that could not be answered."""


class Requester(TypedDict):
    session: str
    """The session, by its key or its id."""
    agent: str
    """Name of the agent."""


# rules: Ids of the rules that want these people.
# from: Users and groups as the rules name them; null: those who may approve calls.
# users: Globs over the names of the users in `from`.
# count: The number of distinct people who have to approve.
# approved: The number of people who count and have approved.
# notRequester: True when the requester of the call does not count.
# escalatesAt: When other people are added; null when none are.
# to: Users and groups that are added then.
# toUsers: Globs over the names of the users in `to`.
# isFixed: Set when the rules let no approver change the arguments of the call.
Requirement = TypedDict(
    "Requirement",
    {
        "rules": "list[str]",
        "from": "list[str] | None",
        "users": "list[str]",
        "count": "int",
        "approved": "int",
        "notRequester": "bool",
        "escalatesAt": "Timestamp | None",
        "to": "list[str]",
        "toUsers": "list[str]",
        "isFixed": "NotRequired[Literal[True]]",
    },
)


class ResetSessionReply(TypedDict):
    session: Session
    """The session."""
    endedSessionId: str
    """Id of the session that ended."""
    cancelledRun: str | None
    """The run that was cancelled; null when none was in progress."""
    droppedRuns: list[str]
    """Messages that waited and are not answered."""


class ResumeCallsReply(TypedDict):
    resumed: bool
    """False when nothing was stopped."""


class Review(TypedDict):
    files: list[ReviewFiles]
    """The files, the skill's own first."""
    scan: ScanReport | None
    """Report of the scanner; null when the version was never scanned."""
    withheld: Literal["untrusted", "changed", "blocked"] | None
    """The reason why it is stored and not listed; null when it is listed."""


class ReviewFiles(TypedDict):
    path: str
    """Path relative to the directory, with `/`."""
    sizeBytes: int
    """Size in bytes."""
    text: str | None
    """The text; null for bytes, and beyond 256 KiB of all files."""


class RevokeChatLinkReply(TypedDict):
    link: ChatLink
    """The link of a person in a chat with a caller."""


class RevokeGrantReply(TypedDict):
    grant: SessionGrant
    """The standing approval; null for a single call."""


class RevokeUserKeyReply(TypedDict):
    info: UserKey
    """The facts about it, without secrets."""


class RevokeUserSessionReply(TypedDict):
    info: UserSession
    """The facts about it, without secrets."""


class RollbackAgentReply(TypedDict):
    name: str
    """Name of an agent: 1-64 characters of A-Z a-z 0-9 _ -."""
    digest: str
    """SHA-256 digest that names exactly this version."""
    before: str | None
    """The version that was listed before; null when none was."""


class RollbackSkillReply(TypedDict):
    name: str
    """Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -."""
    version: str
    """Version, for `ifVersion` or If-Match of a change."""
    before: str | None
    """The version that was listed before; null when none was."""


class RuleMismatch(TypedDict):
    part: str
    """The part of the rule, such as `what.tools` or `when[0]`."""
    expected: str
    """The value that the rule requires; a long one is cut."""
    got: str
    """The value that the call has; a long one is cut."""


class RunCancelled(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    by: str
    """The NATS user that did it."""
    reason: PromptName | None
    """Why, in words for people."""
    steps: int
    """Model calls so far."""
    costUsd: NotRequired[float | None]
    """Cost of the model calls in US dollars; null when the price of a model is unknown."""
    usage: NotRequired[Usage]
    """Tokens of the model calls."""


class RunChildEnded(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    callId: str
    """Id of the tool call. A call that is repeated under its id returns the stored result."""
    childRunId: RunId
    """Id of the run that works for this one."""
    status: str
    """The outcome of the child run."""


class RunChildStarted(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    callId: str
    """Id of the tool call. A call that is repeated under its id returns the stored result."""
    childRunId: RunId
    """Id of the run that works for this one."""
    agent: str
    """Name of the agent."""


class RunContext(TypedDict):
    channel: NotRequired[str]
    """Channel of the conversation, such as `slack` or `slack:eng-general`."""
    group: NotRequired[str]
    """The group conversation in the channel."""
    chat: NotRequired[Chat]
    """The chat that gets the answer; left out: none."""
    owner: NotRequired[bool]
    """True when the sender owns this installation; absent when that is not established."""
    session: NotRequired[str]
    """Digest of the conversation that the run belongs to."""
    model: NotRequired[str]
    """The model that the run uses."""
    replayed: NotRequired[Literal[True]]
    """True for a run that plays a recording."""
    dictatedBy: NotRequired[str]
    """The author of the model's answers: the sender of a recording or of a plan."""
    depth: NotRequired[int]
    """The number of runs above this one."""
    parent: NotRequired[str]
    """The run that started this one."""
    between: NotRequired[list[str]]
    """The runs between the parent and the root, the nearest first."""
    root: NotRequired[str]
    """The run from which all runs of this family come."""
    sharesMemory: NotRequired[Literal[True]]
    """True when all runs of the agent share one memory, for all requesters."""


class RunDelayed(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    at: Timestamp
    """When it happened."""
    reason: str
    """The failed step, such as the request without a reply."""


class RunDelta(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    step: int
    """Number of the model call, from 1."""
    delta: str
    """The next piece of text. It is lost when it is missed; the event at the end of the step has
    it.
    """
    kind: NotRequired[Literal["delta", "reset-step"]]
    """`delta`: text. `reset-step`: the text of this step so far is void."""


class RunFailed(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    failure: RunFailure
    """The reason of the failure: a code and a message."""
    steps: int
    """Model calls so far."""
    costUsd: NotRequired[float | None]
    """Cost of the model calls in US dollars; null when the price of a model is unknown."""
    usage: NotRequired[Usage]
    """Tokens of the model calls."""


class RunFailure(TypedDict):
    code: str
    """Stable snake_case code, such as `model_error` or `limit_exceeded`."""
    message: str
    """A description of the event, for people."""
    limit: NotRequired[Limit]
    """With `limit_exceeded`: the limit that the run reached."""


class RunFinished(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    output: str
    """The answer, cut to 16 KiB."""
    model: ModelName
    """The model, as `provider/model`."""
    steps: int
    """Model calls so far."""
    toolCalls: int
    """Tool calls so far."""
    deniedCalls: NotRequired[int]
    """Tool calls that the policy or a person denied; absent when none was."""
    usage: Usage
    """Tokens of the model calls."""
    durationMs: float
    """The duration, in milliseconds."""
    costUsd: NotRequired[float | None]
    """Cost of the model calls in US dollars; null when the price of a model is unknown."""


class RunInputText(TypedDict):
    type: Literal["text"]
    """Selects the form of this object; its other fields depend on it."""
    text: str
    """The text."""


class RunLimits(TypedDict):
    maxSteps: NotRequired[int]
    """The most model calls of a run."""
    maxToolCalls: NotRequired[int]
    """The most tool calls of a run; null: no limit of its own."""
    maxTokens: NotRequired[int]
    """The most input and output tokens of all model calls together; null: no limit."""
    maxCostUsd: NotRequired[float]
    """The most that all model calls may cost, in US dollars. Calls of unknown price count as 0."""
    maxRepeatedCalls: NotRequired[int]
    """The number of times that the same call may have the same result before the run ends."""
    timeoutMs: NotRequired[int]
    """Time limit from the first start, in milliseconds."""
    onLimit: NotRequired[Literal["pause", "fail"]]
    """At a limit the run ends (`fail`), or waits for `run.resume` with other limits (`pause`)."""


class RunMerged(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    at: Timestamp
    """When it happened."""
    sessionId: SessionId
    """Id of the session; a reset gives the session another one."""
    sessionKey: str
    """Key of the session, unique among those of its owner."""
    into: RunId
    """The run that answers the message."""


class RunModelResponded(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    step: int
    """Number of the model call, from 1."""
    model: ModelName
    """The model that was called."""
    text: str
    """The model's text, cut to 16 KiB."""
    toolCalls: int
    """Tool calls that the model requested in this step."""
    usage: Usage
    """Tokens of the model calls."""
    durationMs: float
    """The duration, in milliseconds."""
    costUsd: NotRequired[float | None]
    """Cost of the model calls in US dollars; null when the price of a model is unknown."""
    passedOver: NotRequired[list[RunModelRespondedPassedOver]]
    """Models of higher preference that could not answer; missing: none."""


class RunModelRespondedPassedOver(TypedDict):
    model: ModelName
    """The model, as `provider/model`."""
    message: str
    """The reason why it could not answer."""


class RunQuestionAnswered(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    callId: str
    """Id of the tool call. A call that is repeated under its id returns the stored result."""
    by: str
    """The NATS user that did it."""


class RunQuestionRequested(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    callId: str
    """Id of the tool call. A call that is repeated under its id returns the stored result."""
    question: str
    """The question."""
    options: list[str]
    """Answers to choose from; empty when any text will do."""
    schema: NotRequired[dict[str, Any]]
    """JSON Schema of the answer; missing: a text."""
    until: Timestamp
    """When the run continues without an answer."""


class RunQueued(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    at: Timestamp
    """When it happened."""
    sessionId: SessionId
    """Id of the session; a reset gives the session another one."""
    sessionKey: str
    """Key of the session, unique among those of its owner."""
    position: int
    """Position in the queue, from 1."""


class RunRejected(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    subject: str
    """Subject that the message was published on."""
    caller: str
    """The user that sent the command."""
    code: str
    """Stable snake_case code, such as `unknown_agent` or `run_id_taken`."""
    message: str
    """A description of the event, for people."""
    problems: list[str]
    """The problems: the path of each value, and its problem."""
    streamSequence: int
    """Position of the command in its stream; 0 for a request that was no command."""
    messageId: str | None
    """JetStream's deduplication id; null without one."""
    at: Timestamp
    """When it happened."""


class RunResumed(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    attempt: int
    """The number of times a runner picked the run up, from 1."""
    journalEntries: int
    """The number of journal entries that the runner read."""


class RunRetried(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    by: str
    """The NATS user that did it."""
    limits: RunRetriedLimits
    """The limits from now on."""
    streamSequence: int
    """Position of the command in its stream; 0 for a request that was no command."""


class RunRetriedLimits(TypedDict):
    """The limits from now on."""

    maxSteps: int
    """The most model calls of a run."""
    maxToolCalls: int | None
    """The most tool calls of a run; null: no limit of its own."""
    maxTokens: NotRequired[int]
    """The most input and output tokens of all model calls together; null: no limit."""
    maxCostUsd: NotRequired[float]
    """The most that all model calls may cost, in US dollars. Calls of unknown price count as 0."""
    maxRepeatedCalls: NotRequired[int]
    """The number of times that the same call may have the same result before the run ends."""
    timeoutMs: int
    """Time limit in milliseconds."""
    onLimit: NotRequired[OnLimit]
    """At a limit the run ends (`fail`), or waits for `run.resume` with other limits (`pause`)."""


class RunScheduleReply(TypedDict):
    ran: bool
    """True when a run was started."""
    reason: NotRequired[Literal["not-due", "already-running", "disabled"]]
    """The reason why no run was started."""
    runId: NotRequired[str]
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""


class RunSkillActivated(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    skill: str
    """Name of the skill."""
    digest: Digest
    """SHA-256 digest that names exactly this version."""


class RunStarted(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    agent: str
    """Name of the agent."""
    agentDigest: Digest
    """Digest of the agent's version; null until a runner has begun the run."""
    policyDigest: NotRequired[Digest]
    """Digest of the rules in force."""
    requester: str
    """The NATS user whose command started the run."""
    model: ModelName
    """The model, as `provider/model`."""
    labels: dict[str, str]
    """Labels that the command gave the run."""
    parent: NotRequired[RunStartedParent]
    """The run that this one works for, and its call."""
    forkedFrom: NotRequired[RunStartedForkedFrom]
    """The run and the step that this one was copied from."""
    replayed: NotRequired[bool]
    """True when the result is the stored one of an earlier request with the same id."""
    session: NotRequired[RunStartedSession]
    """The conversation that the run belongs to."""


class RunStartedAbridged(TypedDict):
    field: str
    """Name of the field."""
    bytes: int
    """Size of the whole text in bytes."""
    digest: Digest
    """Digest of the whole text."""


class RunStartedForkedFrom(TypedDict):
    """The run and the step that this one was copied from."""

    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    fromStep: int
    """The first model call that is made anew, from 1."""


class RunStartedParent(TypedDict):
    """The run that this one works for, and its call."""

    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    callId: str
    """Id of the tool call. A call that is repeated under its id returns the stored result."""


class RunStartedSession(TypedDict):
    """The conversation that the run belongs to."""

    sessionId: SessionId
    """Id of the session; a reset gives the session another one."""
    key: str
    """Key of the session."""


class RunSteered(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    by: str
    """The NATS user that did it."""
    preview: str
    """The beginning of the text, at most 1 KiB."""
    streamSequence: NotRequired[int]
    """Position of the command in its stream; 0 for a request that was no command."""


class RunToolCompleted(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    step: int
    """Number of the model call, from 1."""
    callId: str
    """Id of the tool call. A call that is repeated under its id returns the stored result."""
    tool: ToolName
    """Name of the tool."""
    isError: bool
    """True when the tool failed; the text has the reason."""
    decision: Decision | None
    """The policy's decision; null for tools of the runner itself."""
    preview: str
    """The beginning of the text, at most 1 KiB."""
    textBytes: int
    """Size of the whole result, in bytes."""
    durationMs: float
    """The duration, in milliseconds."""
    replayed: bool
    """True when the result is the stored one of an earlier request with the same id."""


class RunToolDenied(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    step: int
    """Number of the model call, from 1."""
    callId: str
    """Id of the tool call. A call that is repeated under its id returns the stored result."""
    tool: str
    """Name of the tool."""
    decision: Decision
    """The policy's decision."""


class RunToolFailed(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    step: int
    """Number of the model call, from 1."""
    callId: str
    """Id of the tool call. A call that is repeated under its id returns the stored result."""
    tool: str
    """Name of the tool."""
    code: str
    """Stable snake_case code of the problem."""
    message: str
    """A description of the event, for people."""


class RunToolRequested(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    step: int
    """Number of the model call, from 1."""
    callId: str
    """Id of the tool call. A call that is repeated under its id returns the stored result."""
    tool: str
    """Name of the tool."""
    argsPreview: str
    """JSON of the arguments with secrets masked, cut to 1 KiB."""
    argsDigest: Digest
    """Digest of the arguments as canonical JSON."""


class RunToolsUnavailable(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    servers: list[UnavailableServer]
    """All unavailable servers; empty when there are none any more."""


class RunWait(TypedDict):
    reason: WaitReason
    """The reason of the wait."""
    callId: str
    """Id of the tool call that waits; for a limit or a stop the run's id."""
    tool: str
    """The tool of the call; empty for a limit or a stop."""
    until: SearchedFrom
    """When it continues without an event; null: never."""
    approvalId: NotRequired[str]
    """Id of the approval."""
    childRunId: NotRequired[RunId]
    """Id of the run that works for this one."""
    question: NotRequired[str]
    """The question."""
    options: NotRequired[list[str]]
    """Answers to choose from; empty when any text will do."""
    schema: NotRequired[dict[str, Any]]
    """JSON Schema of the answer; missing: a text."""
    limit: NotRequired[ReachedLimit]
    """The limit that was reached."""
    stop: NotRequired[StopInForce]
    """The stop that denies it."""


class RunWaiting(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    waits: list[RunWait]
    """The waits of the run."""
    until: SearchedFrom
    """When the run continues without an event; null: never."""


class RunWoken(TypedDict):
    runId: RunId
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    seq: int
    """Number of the entry, from 1 and without a gap."""
    at: Timestamp
    """When it happened."""
    abridged: NotRequired[list[RunStartedAbridged]]
    """Fields that are complete only in `runs.get`."""
    attempt: int
    """The number of times a runner picked the run up, from 1."""


class ScanFinding(TypedDict):
    code: str
    """Stable snake_case code of the problem."""
    owasp: Literal["AST01", "AST02", "AST03", "AST04", "AST05", "AST06", "AST07", "AST08", "AST09", "AST10"]
    """Entry of the OWASP Agentic Skills Top 10."""
    severity: Literal["info", "low", "medium", "high", "critical"]
    """The severity."""
    confidence: Literal["low", "medium", "high"]
    """The confidence in the finding."""
    blocks: bool
    """True: this finding alone blocks the skill."""
    file: str
    """Path of the file, with `/`."""
    line: int | None
    """Line in the file, from 1; null when it is about the whole file."""
    column: int | None
    """Column in the line, from 1; null when it is about the whole line."""
    evidence: str
    """The text that was found: shortened, invisible characters escaped, secrets masked."""
    message: str
    """A description of the event, for people."""
    advice: str
    """The advice on the finding."""


class ScanReport(TypedDict):
    scanner: str
    """Version of the scanner's rules."""
    verdict: Literal["clean", "findings", "partial", "blocked"]
    """`blocked`: a finding blocks it. `partial`: not everything could be read."""
    findings: list[ScanFinding]
    """The findings, worst first, at most 100."""
    leftOut: int
    """Findings beyond the listed ones."""
    suppressed: list[ScanReportSuppressed]
    """Findings that a suppression accepts."""
    idleSuppressions: list[ScanReportIdleSuppressions]
    """Suppressions without effect."""
    unscanned: list[ScanReportUnscanned]
    """The parts that the scanner did not read."""
    capabilities: ScanReportCapabilities
    """The capabilities that the skill uses, and those that it declares."""
    files: int
    """The number of scanned files."""
    bytes: int
    """The number of scanned bytes."""


class ScanReportCapabilities(TypedDict):
    """The capabilities that the skill uses, and those that it declares."""

    env: CapabilityUse
    """Environment variables."""
    bins: CapabilityUse
    """Programs, all of which are needed."""
    hosts: CapabilityUse
    """Hosts that are contacted."""
    tools: CapabilityUse
    """Tools that are used."""


class ScanReportIdleSuppressions(TypedDict):
    suppression: ScanReportIdleSuppressionsSuppression
    """The suppression."""
    why: Literal["expired", "unused"]
    """It has expired, or nothing matched."""


class ScanReportIdleSuppressionsSuppression(TypedDict):
    """The suppression."""

    code: str
    """Stable snake_case code of the problem."""
    reason: str
    """Why, in words for people."""
    digest: NotRequired[str]
    """The version that it covers."""
    path: NotRequired[str]
    """The file that it covers."""
    expiresAt: NotRequired[Timestamp]
    """When it ends; from then on it has no effect."""


class ScanReportSuppressed(TypedDict):
    finding: ScanFinding
    """The finding."""
    reason: str
    """Why, in words for people."""


class ScanReportUnscanned(TypedDict):
    file: str
    """Path of the file, with `/`."""
    code: Literal["binary_file", "undecodable_text", "file_cut", "too_many_files", "too_many_bytes", "deadline"]
    """Stable snake_case code of the problem."""
    message: str
    """A description of the event, for people."""


class ScheduleJob(TypedDict):
    name: str
    """Name of the job for people."""
    description: NotRequired[str]
    """Description for people and models."""
    agentId: NotRequired[str | None]
    """The agent; left out or null: the installation's agent for jobs."""
    sessionKey: NotRequired[str | None]
    """Session of a `main` job; left out or null: `main`."""
    schedule: ScheduleJobSchedule
    """When the job is due."""
    sessionTarget: Literal["main", "isolated"]
    """`main`: a message in a session. `isolated`: a session of its own for each run."""
    payload: JobPayload
    """The work of the job."""
    delivery: NotRequired[JobDelivery]
    """The target of the answer; null removes it."""
    enabled: bool
    """True when it is switched on."""
    deleteAfterRun: bool
    """True: the job is removed after its run; left out: true for `at`."""
    wakeMode: Literal["next-heartbeat", "now"]
    """`now`, or with the next heartbeat."""
    overlap: Literal["skip", "queue", "parallel"]
    """The treatment of a due time while an earlier run is in progress."""
    catchUp: Literal["once", "skip"]
    """After an outage: `once` for all missed due times, or `skip` them."""
    declaredAs: NotRequired[str]
    """Id of the job in `triggers.yaml`; missing for a job that was added."""
    id: str
    """Id of the job: `job-` and 16 hexadecimal digits."""
    owner: str
    """The NATS user to whom it belongs."""
    createdAtMs: int
    """When it was created, in milliseconds since 1970."""
    updatedAtMs: int
    """When it changed last, in milliseconds since 1970; the version for `ifVersion`."""
    state: ScheduleJobState
    """When the job ran and how it went."""


class ScheduleJobReply(TypedDict):
    job: ScheduleJob
    """The job."""


class ScheduleJobSchedule(TypedDict):
    """When the job is due."""

    kind: Literal["at", "every", "cron", "message"]
    """The kind of source that makes the job due; `message`: messages on a subject."""
    at: NotRequired[str]
    """When it happened."""
    everyMs: NotRequired[int]
    """For `every`: the interval in milliseconds, at least 1,000."""
    anchorMs: NotRequired[int]
    """For `every`: the time to count from, in milliseconds since 1970; left out: the creation."""
    expr: NotRequired[str]
    """For `cron`: five or six fields."""
    tz: NotRequired[str]
    """For `cron`: an IANA time zone; left out: UTC."""
    staggerMs: NotRequired[int]
    """For `cron`: a stable delay below so many milliseconds."""
    subject: NotRequired[str]
    """For `message`: the subject, which may have wildcards."""
    stream: NotRequired[str]
    """For `message`: the JetStream stream to read from."""


class ScheduleJobState(TypedDict):
    """When the job ran and how it went."""

    nextRunAtMs: NotRequired[int]
    """When it is due next, in milliseconds since 1970; missing: never."""
    runningAtMs: NotRequired[int]
    """When the run in progress began, in milliseconds since 1970."""
    lastRunAtMs: NotRequired[int]
    """When it ran last, in milliseconds since 1970."""
    lastRunStatus: NotRequired[Literal["ok", "error", "skipped"]]
    """The outcome of the last run."""
    lastError: NotRequired[str]
    """The reason why the last run failed."""
    lastDurationMs: NotRequired[int]
    """The duration of the last run, in milliseconds."""
    consecutiveErrors: int
    """Failed runs in a row."""
    scheduleErrorCount: int
    """Failures to compute the next due time in a row."""
    lastDelivered: NotRequired[bool]
    """True when the last answer was delivered."""
    lastDeliveryStatus: NotRequired[Literal["delivered", "not-delivered", "unknown", "not-requested"]]
    """The delivery status of the last answer."""
    lastDeliveryError: NotRequired[str]
    """The reason why the last answer was not delivered."""


class ScheduleRuns(TypedDict):
    entries: list[ScheduleRunsEntries]
    """The entries."""
    total: int
    """The number of entries without the limit of the page."""
    offset: int
    """The requested offset."""
    limit: int
    """The requested limit."""
    hasMore: bool
    """True when there is another page."""
    nextOffset: int | None
    """`offset` of the next page; null when this is the last one."""


class ScheduleRunsEntries(TypedDict):
    ts: int
    """When it ended, in milliseconds since 1970."""
    jobId: str
    """Id of the job."""
    jobName: str
    """Name of the job for people."""
    action: Literal["finished"]
    """Always `finished`."""
    status: Literal["ok", "error", "skipped"]
    """The outcome of the run."""
    dueAtMs: int
    """The due time, in milliseconds since 1970."""
    missed: NotRequired[int]
    """The number of further due times that the entry stands for."""
    error: NotRequired[str]
    """A description of the failure, for people."""
    summary: NotRequired[str]
    """The beginning of the answer."""
    delivered: NotRequired[bool]
    """True when the answer was delivered."""
    deliveryStatus: NotRequired[Literal["delivered", "not-delivered", "unknown", "not-requested"]]
    """The delivery status of the answer."""
    deliveryError: NotRequired[str]
    """The reason why the answer was not delivered."""
    runId: NotRequired[str]
    """Id of the run. The owner's part before `~` may be left out for a run of the caller."""
    sessionKey: NotRequired[str]
    """Key of the session, unique among those of its owner."""
    sessionId: NotRequired[str]
    """Id of the session; a reset gives the session another one."""
    runAtMs: NotRequired[int]
    """The due time, in milliseconds since 1970."""
    durationMs: NotRequired[int]
    """The duration, in milliseconds."""
    nextRunAtMs: NotRequired[int]
    """When it is due next, in milliseconds since 1970; missing: never."""
    model: NotRequired[str]
    """The model, as `provider/model`."""
    provider: NotRequired[str]
    """The tool provider."""
    usage: NotRequired[ScheduleRunsEntriesUsage]
    """Tokens of the model calls."""


class ScheduleRunsEntriesUsage(TypedDict):
    """Tokens of the model calls."""

    input: int
    """Tokens of the prompts."""
    output: int
    """Tokens of the answers."""
    total: int
    """Tokens of prompts and answers."""
    cacheRead: NotRequired[int]
    """Input tokens that the provider had in its cache."""
    cacheWrite: NotRequired[int]
    """Input tokens that the provider put into its cache."""


class Secret(TypedDict):
    name: str
    """Name of the secret, as in `${secret:NAME}`."""
    owner: str
    """The user that stored the value."""
    updatedAt: Timestamp
    """When the value was stored."""
    servers: list[str] | None
    """The only servers that may use it; null for all."""
    usedBy: list[str]
    """Servers whose declaration refers to it."""


class SendChannelMessageAttachments(TypedDict):
    source: str
    """`https://…`, or the path of a file in an allowed directory."""
    name: NotRequired[str]
    """Name of the file for people."""
    mimeType: NotRequired[str]
    """Media type, such as `image/png`."""
    sha256: NotRequired[str]
    """SHA-256 that the bytes must have, in hexadecimal digits; other bytes are refused."""


class SendChannelMessageReply(TypedDict):
    kind: Literal["send"]
    """Selects the form of this object; its other fields depend on it."""
    sendId: str
    """Id of the sent message."""
    address: Address
    """The address."""
    messageIds: list[str]
    """Ids of the messages at the provider; several when the text was cut."""
    sentAt: Timestamp | None
    """When it was sent; null for a dry run."""
    handledBy: str
    """The channel's adapter that did it."""
    dryRun: bool
    """True: everything is checked, and nothing is changed or sent."""
    degraded: list[str]
    """Requested features that were left out, such as an effect."""
    replayed: bool
    """True when the result is the stored one of an earlier request with the same id."""
    loadedFiles: NotRequired[list[SendChannelMessageReplyLoadedFiles]]
    """With `dryRun`: the attachments as they were loaded, in the order of the request."""


class SendChannelMessageReplyLoadedFiles(TypedDict):
    name: str
    """Name of the file."""
    mediaType: str
    """Type that the bytes show; `application/octet-stream` for bytes of no known type."""
    sizeBytes: int
    """Size of the file, in bytes."""
    sha256: str
    """SHA-256 of the bytes, in hexadecimal digits."""


class SendToSessionFollowUpAnnounce(TypedDict):
    kind: Literal["announce"]
    """Selects the form of this object; its other fields depend on it."""
    to: SendToSessionFollowUpAnnounceTo
    """The session that gets the result."""
    label: str | None
    """Name for people."""
    endsSession: bool
    """True: the session of the run ends after it."""
    chat: NotRequired[AddressInput]
    """The chat that gets the answer; left out: none."""


class SendToSessionFollowUpAnnounceTo(TypedDict):
    """The session that gets the result."""

    session: str
    """The session, by its key or its id."""
    agent: str
    """The agent that answers there."""


class SendToSessionFollowUpConverse(TypedDict):
    kind: Literal["converse"]
    """Selects the form of this object; its other fields depend on it."""
    requester: Requester
    """The session that asked first."""
    target: Requester
    """The session that answers first."""
    speaker: Literal["requester", "target"]
    """The session of the two that the run belongs to."""
    turnsLeft: int
    """The number of answers that may still follow."""
    question: str
    """The first message."""
    firstReply: NotRequired[str]
    """The first answer; missing before."""
    lastReply: NotRequired[str]
    """The last answer; missing before."""
    chat: NotRequired[AddressInput]
    """The chat that gets the answer; left out: none."""


class SendToSessionFollowUpTell(TypedDict):
    kind: Literal["tell"]
    """Selects the form of this object; its other fields depend on it."""
    chat: AddressInput
    """The chat that gets the answer; left out: none."""


class SendToSessionReply(TypedDict):
    status: Literal["accepted", "ok", "timeout", "error"]
    """`accepted`: not waited for. `timeout`: the run continues. `error`: it ended without an
    answer.
    """
    sessionId: str
    """Id of the session; a reset gives the session another one."""
    sessionKey: str
    """Key of the session, unique among those of its owner."""
    runId: str
    """The run that answers."""
    placed: Literal["started", "queued", "steered"]
    """`started` a run, `queued` behind another one, or `steered` into one."""
    reply: NotRequired[str]
    """The answer; missing unless the run ended in time."""
    error: NotRequired[RunFailure]
    """A description of the failure, for people."""


class SentFile(TypedDict):
    path: str
    """Path relative to the directory, with `/`."""
    text: NotRequired[str]
    """The text; in place of `base64`."""
    base64: NotRequired[str]
    """The bytes in base64; in place of `text`."""


class ServerFacts(TypedDict):
    labels: NotRequired[list[str]]
    """The `tags` of the server's declaration."""
    roles: NotRequired[list[str]]
    """Roles of agents that may use the server; absent means every agent."""
    enabledTools: NotRequired[list[str]]
    """Patterns over the server's own tool names; absent means every tool."""


class ServerInfo(TypedDict):
    id: str
    """Id of an MCP server: 1-24 characters of a-z 0-9 -."""
    name: str
    """Name of the server for people."""
    origin: Literal["file", "api"]
    """The source of its declaration."""
    transport: Literal["stdio", "http", "sse"]
    """The transport to the server."""
    status: Literal["connecting", "connected", "disconnected", "error", "disabled"]
    """State of the connection."""
    toolCount: int
    """The number of tools that the server lists."""
    serverVersion: str | None
    """Name and version that the server reports; null while it is not connected."""
    protocolVersion: str | None
    """MCP version of the connection; null while it is not connected."""
    lastError: str | None
    """The last failure; null when the last attempt succeeded."""
    connectedAt: Timestamp | None
    """Since when it is connected; null while it is not."""
    capabilities: NotRequired[ServerInfoCapabilities | None]
    """Features of the server; null while it is not connected."""
    instructions: NotRequired[str]
    """The text of the instructions."""
    owner: NotRequired[str | None]
    """The broker that has its lease; null while none has."""
    circuit: NotRequired[Literal["closed", "open", "half_open"]]
    """State of its circuit breaker: `open` lets no call through."""
    autoConnect: NotRequired[bool]
    """True: it is connected from the start; false: with its first call."""
    overridesFile: NotRequired[bool]
    """True when it was changed and the broker's file has an entry for it, too."""
    warnings: NotRequired[list[str]]
    """Parts of its declaration that have no effect."""


class ServerInfoCapabilities(TypedDict):
    tools: bool
    """True when it has tools."""
    resources: bool
    """True when it has resources."""
    prompts: bool
    """True when it has prompts."""


class ServerReply(TypedDict):
    server: ServerInfo
    """The server after the change."""


class ServersMcp(TypedDict):
    server: ServerInfo
    """The server after the change."""
    version: NotRequired[str]
    """Version, for `ifVersion` or If-Match of a change."""


class Session(TypedDict):
    sessionId: str
    """Id of the session; a reset gives the session another one."""
    key: str
    """Key of the session."""
    owner: str
    """The NATS user to whom it belongs."""
    kind: Literal["main", "group", "cron", "hook", "node", "other"]
    """The purpose of the session."""
    label: str | None
    """Name for people; null without one."""
    title: NotRequired[str]
    """First words of the first message, a name for people; missing before the first message."""
    agent: str
    """The agent that answers messages without an agent."""
    model: str | None
    """The model that replaces the agent's; null: none."""
    skillsOff: list[str]
    """Skills that are switched off for runs of the session."""
    onBusy: Literal["enqueue", "steer", "interrupt", "reject"]
    """The treatment of a message while another run of the session is in progress."""
    version: NotRequired[str]
    """Version, for `ifVersion` or If-Match of a change."""
    createdAt: Timestamp
    """When it was created."""
    updatedAt: Timestamp
    """When it changed last."""
    endsAt: Timestamp
    """When the session ends unless it is used before."""
    messages: int
    """Messages in the history."""
    droppedMessages: int
    """Messages that the history has no room for any more."""
    bytes: int
    """Size of the history in bytes."""
    activeRun: str | None
    """The run in progress; null when there is none."""
    queued: int
    """Messages that wait for it to end."""
    lastRun: LastRun | None
    """The run that ended last; null before the first one ended."""
    totalTokens: int
    """Input and output tokens of all runs of the session."""


class SessionGrant(TypedDict):
    id: str
    """Id of a standing approval: `grt-` and 32 hexadecimal digits."""
    principal: Principal
    """For whom the policy decides: a user, or a run of a user."""
    tool: ToolRef
    """The tool: its canonical name, its server and its name there."""
    pin: str | None
    """Digest of the tool's definition; null when it has none."""
    rule: str | None
    """Id of the rule that decided; null when no rule matched."""
    policyDigest: str
    """Digest of the rules in force."""
    sameArguments: list[str]
    """JSON pointers of arguments that must have the approved call's values."""
    approvalId: str
    """Id of the approval."""
    grantedBy: str
    """The user that approved it."""
    grantedAt: Timestamp
    """When it was approved."""
    expiresAt: Timestamp
    """When it ends; from then on it has no effect."""
    usesLeft: int
    """The number of calls that it may still let pass."""
    requirements: list[Requirement]
    """Those of its approval: these people may see and revoke it."""


class SessionMessage(TypedDict):
    at: Timestamp
    """When it happened."""
    role: Literal["user", "assistant", "tool", "notice"]
    """The speaker's role; `notice`: a run ended without an answer, or a message came from
    elsewhere.
    """
    text: str
    """The text; credentials are masked."""
    runId: str
    """The run of the message."""
    sendId: NotRequired[str]
    """Id of a message that was sent to the chat from elsewhere."""
    by: NotRequired[str]
    """The author of a user's message."""
    agent: NotRequired[str]
    """The agent whose run wrote an answer or ended without one."""
    tool: NotRequired[str]
    """Name of the tool."""
    isError: NotRequired[bool]
    """True when the tool failed; the text has the reason."""
    truncated: NotRequired[bool]
    """True when a part was left out because it was too long."""
    redacted: NotRequired[bool]
    """True when credentials in the text were masked."""
    files: NotRequired[list[Input]]
    """Files of the message."""


class SessionReply(TypedDict):
    session: Session
    """The session."""


class SetPushKeys(TypedDict):
    """The keys of the browser's subscription."""

    p256dh: str
    """The browser's public key, a point of P-256 in base64url."""
    auth: str
    """The browser's authentication secret in base64url."""


class SetPushReply(TypedDict):
    isOn: Literal[True]
    """Always true."""


class SetServerLogLevelReply(TypedDict):
    level: Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
    """Severity, from the least to the worst."""


class SetServerSecretReply(TypedDict):
    secret: Secret
    """The secret without its value."""


class SkillInstructions(TypedDict):
    name: str
    """Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -."""
    digest: str
    """Digest of all files of the rendered version."""
    text: str
    """The text for a prompt."""
    allowedTools: list[str] | None
    """Tool patterns that the skill restricts itself to; null: no restriction."""
    disallowedTools: NotRequired[list[str]]
    """Patterns of tools that a run with the skill never calls."""
    plan: Plan | None
    """Plan for the scripted provider, which is not AI; null without one."""
    warnings: list[str]
    """Remarks that change nothing."""


class SkillRemoved(TypedDict):
    name: str
    """Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -."""
    version: str
    """Version, for `ifVersion` or If-Match of a change."""


class Skills(TypedDict):
    skills: list[SkillsSkills]
    """The skills."""


class SkillsImported(TypedDict):
    skills: SkillsImportedSkills
    """Counts of skill files."""
    agents: SkillsImportedAgents
    """Counts of agent files."""
    diagnostics: list[Diagnostic]
    """Remarks about the file, with their lines."""


class SkillsImportedAgents(TypedDict):
    """Counts of agent files."""

    found: int
    """Files that were found."""
    loaded: int
    """Files that were loaded."""
    skipped: int
    """Files that were skipped."""


class SkillsImportedSkills(TypedDict):
    """Counts of skill files."""

    found: int
    """Files that were found."""
    loaded: int
    """Files that were loaded."""
    skipped: int
    """Files that were skipped."""
    repaired: NotRequired[int]
    """Loaded files whose YAML was repaired."""


class SkillsSkills(TypedDict):
    name: str
    """Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -."""
    description: str
    """Description for people and models."""
    digest: str
    """SHA-256 digest that names exactly this version."""
    path: str
    """Path relative to the directory, with `/`."""
    userInvocable: bool
    """True when people may use it as a command."""
    modelInvocable: bool
    """True when models may activate it."""
    allowedTools: list[str] | None
    """Tool patterns that the skill restricts itself to; null: no restriction."""
    argumentHint: str | None
    """A hint at the command's arguments; null without one."""
    triggers: NotRequired[list[str]]
    """Other words of the file about when to use the skill."""
    repaired: NotRequired[bool]
    """True when the file's YAML is broken and was read after a repair."""
    needsReview: NotRequired[bool]
    """True when so little could be read that a person should review it."""
    version: NotRequired[str]
    """Version, for `ifVersion` or If-Match of a change."""
    scope: NotRequired[Literal["project", "user", "workspace", "imported"]]
    """The scope."""
    format: NotRequired[Literal["legacy"]]
    """Format of the text."""
    source: NotRequired[Literal["openclaw"]]
    """The source."""
    diagnostics: list[Diagnostic]
    """Remarks about the file, with their lines."""


class SkillsUploaded(TypedDict):
    counts: SkillsUploadedCounts
    """The numbers of files found, loaded and skipped."""
    skills: list[SkillsUploadedSkills]
    """One for each file, in the order in which they came."""
    diagnostics: list[Diagnostic]
    """Remarks about the file, with their lines."""


class SkillsUploadedCounts(TypedDict):
    """The numbers of files found, loaded and skipped."""

    found: int
    """Files that were found."""
    loaded: int
    """Files that were loaded."""
    repaired: int
    """Loaded files whose YAML was repaired."""
    skipped: int
    """Files that were skipped."""
    withheld: int
    """Loaded files that wait for a person's trust."""
    reasons: dict[str, int]
    """Skipped files by the code of their first error."""


class SkillsUploadedSkills(TypedDict):
    file: str
    """Path of the file, with `/`."""
    name: str | None
    """Name of the skill; null when the file does not load."""
    description: str
    """Description for people and models."""
    version: str | None
    """The version of its files; null when the file does not load."""
    outcome: Literal["loaded", "repaired", "skipped"]
    """The outcome for the file."""
    change: Literal["new", "changed", "same", "hidden"] | None
    """Compared with the listed version; `hidden`: a file of the importer has the name."""
    withheld: Literal["untrusted", "changed", "blocked"] | None
    """The reason why it is stored and not listed; null when it is listed."""
    dependenciesMet: bool | None
    """True when its requirements are met; null when it declares none."""
    dependencyWarnings: list[str]
    """Requirements that are not met."""
    diagnostics: list[Diagnostic]
    """Remarks about the file, with their lines."""
    conformance: NotRequired[list[Conformance]]
    """Results of the checks against other formats; present only when requested."""
    scan: NotRequired[ScanReport]
    """Report of the scanner; null when the version was never scanned."""


class StartRunOrigin(TypedDict):
    """The origin of the run, as a trusted service reports it."""

    channel: NotRequired[str]
    """Name of the channel, such as `telegram`."""
    group: NotRequired[str]
    """The group conversation in the channel."""
    chat: NotRequired[Chat]
    """The chat that gets the answer; left out: none."""
    owner: NotRequired[bool]
    """The NATS user to whom it belongs."""


class StartRunReplay(TypedDict):
    """Answers of the models in an earlier run; they are played, and no model is called."""

    version: Literal[1]
    """Version of the recording's form."""
    answers: list[RecordedAnswer]
    """Answers of the models, in order."""
    summaries: NotRequired[list[RecordedSummary]]
    """Summaries that replaced earlier answers."""
    contextWindow: NotRequired[int]
    """Tokens of the model's context window; null when it is not known."""


class StartRunSampling(TypedDict):
    """Settings of the model, in place of the agent's own."""

    temperature: NotRequired[float]
    """Randomness of the model's words, 0 to 2; null: the provider's default."""
    topP: NotRequired[float]
    """Only the most likely words with this total probability, 0 to 1."""
    presencePenalty: NotRequired[float]
    """Penalty for words that occurred before, -2 to 2."""
    frequencyPenalty: NotRequired[float]
    """Penalty for words by how often they occurred, -2 to 2."""
    seed: NotRequired[int]
    """Seed for repeatable answers, where the model supports it."""
    stopSequences: NotRequired[list[str]]
    """An answer ends before the first of these texts."""
    maxOutputTokens: NotRequired[int]
    """The most tokens of one answer, reasoning included."""


class Stop(TypedDict):
    scope: StopScope
    """The scope."""
    reason: str
    """Why, in words for people."""
    by: str
    """The NATS user that did it."""
    at: Timestamp
    """When it happened."""


class StopCallsReply(TypedDict):
    stop: Stop
    """The stop that is in force now."""


class StopInForce(TypedDict):
    scope: StopScope
    """The scope."""
    reason: str
    """Why, in words for people."""


class StopScopeAgent(TypedDict):
    kind: Literal["agent"]
    """Selects the form of this object; its other fields depend on it."""
    name: str
    """Name or id of what is stopped."""


class StopScopeAll(TypedDict):
    kind: Literal["all"]
    """Selects the form of this object; its other fields depend on it."""


class StopScopeKey(TypedDict):
    kind: Literal["key"]
    """Selects the form of this object; its other fields depend on it."""
    name: str
    """Name or id of what is stopped."""


class StopScopeRun(TypedDict):
    kind: Literal["run"]
    """Selects the form of this object; its other fields depend on it."""
    name: str
    """Name or id of what is stopped."""


class StopScopeServer(TypedDict):
    kind: Literal["server"]
    """Selects the form of this object; its other fields depend on it."""
    name: str
    """Name or id of what is stopped."""


class StopScopeUser(TypedDict):
    kind: Literal["user"]
    """Selects the form of this object; its other fields depend on it."""
    name: str
    """Name or id of what is stopped."""


class SubmitChannelMessageReply(TypedDict):
    address: Address
    """The address."""
    messageId: str
    """Id of the message at its provider."""
    outcome: Literal["stored", "known", "ignored"]
    """`known`: it was received before. `ignored`: the account's rules refuse it."""
    reason: str | None
    """The reason why it is ignored; null otherwise."""


class ToolFinding(TypedDict):
    code: ToolFindingCode
    """Stable snake_case code of the problem."""
    severity: Literal["hard", "soft"]
    """`hard` blocks the tool until an admin accepts the finding; `soft` is shown."""
    where: str
    """JSON pointer to the position; the empty one is the whole."""
    evidence: str
    """The text that was found: shortened, invisible characters escaped, secrets masked."""


class ToolPin(TypedDict):
    server: str
    """Id of the MCP server."""
    tool: str
    """Name of the tool at its server."""
    name: str
    """Canonical name of the tool."""
    state: Literal["pending", "approved", "changed", "blocked"]
    """Only an approved tool is listed and can be called; `changed`: its definition is another one.
    """
    digest: str
    """Digest of the definition that the server listed last."""
    approvedDigest: str | None
    """Digest of the approved definition; null: never approved."""
    findings: list[ToolFinding]
    """Findings about the definition."""
    firstSeenAt: Timestamp
    """When the tool was seen first."""
    seenAt: Timestamp
    """When this definition was seen first."""
    approvedBy: str | None
    """The user that approved it, or `first-use`; null: never approved."""
    approvedAt: Timestamp | None
    """When it was approved; null: never."""
    blockedBy: str | None
    """The user that blocked it, or `finding`; null unless it is blocked."""


class ToolRef(TypedDict):
    name: str
    """Canonical name of the tool, unique in the catalogue; rules and models use it."""
    server: str | None
    """Id of the MCP server; null for a tool that is not one of MCP."""
    tool: str
    """Name of the tool at its server."""


class Tools(TypedDict):
    tools: list[ToolsTools]
    """The tools."""
    failures: list[ToolsFailures]
    """Servers whose tools are missing, and why."""
    instructions: NotRequired[str]
    """The text of the instructions."""


class ToolsFailures(TypedDict):
    server: str
    """Id of the MCP server."""
    status: Literal["connecting", "connected", "disconnected", "error", "disabled"]
    """State of the connection."""
    error: str
    """A description of the failure, for people."""


class ToolsTools(TypedDict):
    name: str
    """Canonical name, unique in the catalogue."""
    server: str
    """Id of the MCP server."""
    tool: str
    """Name of the tool at its server."""
    description: str
    """Description for people and models."""
    inputSchema: InputSchema
    """JSON Schema of the arguments."""
    definition: NotRequired[dict[str, Any]]
    """Other members of the definition, such as `annotations` and `outputSchema`."""
    pin: NotRequired[str]
    """Digest of the definition, to which approvals are bound."""
    findings: NotRequired[list[ToolFinding]]
    """Findings about it; present only when they were requested."""


class TrustSkillReply(TypedDict):
    name: str
    """Name of the skill or agent."""
    version: str
    """The version that is trusted."""
    was: Literal["untrusted", "changed", "blocked"]
    """The reason why it was withheld."""


class UnavailableServer(TypedDict):
    server: ServerId
    """Id of the MCP server."""
    reason: str
    """The reason why its tools are missing."""


class UpdateWebhookReply(TypedDict):
    webhook: Webhook
    """The webhook."""


class UploadSkillsSkills(TypedDict):
    directory: str
    """Name of the skill's directory at the sender."""
    files: list[SentFile]
    """The files."""


class Usage(TypedDict):
    inputTokens: int
    """Tokens of the prompts."""
    outputTokens: int
    """Tokens of the answers."""
    cacheReadTokens: NotRequired[int]
    """Input tokens that the provider had in its cache; missing: none."""
    cacheWriteTokens: NotRequired[int]
    """Input tokens that the provider put into its cache; missing: none."""
    reasoningTokens: NotRequired[int]
    """Output tokens in which the model reasoned; part of `outputTokens`."""
    estimatedTokens: NotRequired[int]
    """Tokens of answers that broke off, which no provider counted; missing: none."""


class UserKey(TypedDict):
    id: str
    """Id of the API key."""
    caller: str
    """The NATS user that a credential or a subject stands for."""
    roles: list[Literal["viewer", "operator", "approver", "admin"]]
    """The roles, each once."""
    scopes: NotRequired[list[str]]
    """Names or patterns of the permitted operations; missing means all that the roles allow."""
    note: str | None
    """A remark for people, one line."""
    createdBy: str
    """The user that created it."""
    createdAt: Timestamp
    """When it was created."""
    expiresAt: Timestamp | None
    """When it ends; null: never."""
    revokedAt: Timestamp | None
    """When it was revoked; null while it is valid."""


class UserSession(TypedDict):
    caller: str
    """The NATS user that a credential or a subject stands for."""
    roles: list[Literal["viewer", "operator", "approver", "admin"]]
    """The roles, each once."""
    scopes: NotRequired[list[str]]
    """Names or patterns of the permitted operations; missing means all that the roles allow."""
    credential: str
    """Name of the credential, never the credential itself."""
    id: str
    """Id of the browser's session."""
    openedAt: Timestamp
    """When the browser signed in."""
    expiresAt: Timestamp
    """When it ends; from then on it has no effect."""


class ValidatePolicyReply(TypedDict):
    valid: bool
    """True when the bundle could come into force: no problem, and no test fails."""
    policyDigest: str | None
    """Digest of the checked bundle; null when it has problems."""
    rules: int
    """The number of rules in the bundle."""
    problems: list[PolicyProblem]
    """The problems: the path of each value, and its problem."""
    tests: list[ValidatePolicyReplyTests]
    """Results of the tests."""
    findings: list[ValidatePolicyReplyFindings]
    """Rules that are valid and most likely not meant."""


class ValidatePolicyReplyFindings(TypedDict):
    kind: Literal["dead", "shadowed", "duplicate", "conflict", "unknown-tools", "open-shell", "unapprovable", "incomplete"]
    """The kind of finding about the rule."""
    rule: str | None
    """Id of the rule; null when it is about the whole bundle."""
    message: str
    """A description of the event, for people."""


class ValidatePolicyReplyTests(TypedDict):
    name: str
    """Name of the test."""
    file: NotRequired[str]
    """Path of the file, with `/`."""
    line: int
    """Line in the file, from 1; null when it is about the whole file."""
    passed: bool
    """True when the decision is the expected one."""
    message: str | None
    """Expected and actual decision; null when it passed."""


class Verdict(TypedDict):
    scanner: str
    """Version of the scanner's rules."""
    verdict: Literal["clean", "findings", "partial", "blocked"]
    """The scanner's verdict; null when the version was never scanned."""


class VerifyAuditReply(TypedDict):
    isIntact: bool
    """True when nothing is missing or changed, and every call was allowed."""
    records: int
    """The number of checked records."""
    chains: int
    """The number of chains."""
    executions: int
    """The number of calls."""
    proven: int
    """The number of calls with the decision that allowed them."""
    sealed: NotRequired[int]
    """The number of records covered by a signature of the policy service."""
    problems: list[str]
    """The problems: the path of each value, and its problem."""


class WaitStop(TypedDict):
    scope: StopScope
    """The scope."""
    reason: str
    """Why, in words for people."""


class WakeSchedulesReply(TypedDict):
    ok: Literal[True]
    """Always true."""
    jobId: str
    """Id of the job."""


class Webhook(TypedDict):
    id: str
    """Id of the webhook: `whk-` and 16 hexadecimal digits."""
    url: str
    """The URL that events are sent to."""
    events: list[str]
    """Names or patterns of events, such as `run.finished` or `run.*`."""
    agent: str | None
    """Only events of runs of this agent; null: of all."""
    createdAt: Timestamp
    """When it was created."""
    status: Literal["enabled", "disabled"]
    """`disabled`: nothing is sent; a redelivery enables it."""
    reason: Literal["failing", "backlog", "gone"] | None
    """The reason why it is disabled; null while it is enabled."""
    failingSince: Timestamp | None
    """Since when no delivery has succeeded; null: the last one did."""
    lastError: str | None
    """The last failure; null when the last attempt succeeded."""
    version: str
    """Version, for `ifVersion` or If-Match of a change."""


Digest = str
ModelName = str
OnLimit = Literal["pause", "fail"]
PromptName = str
RunId = str
RunInput = Union["str", "list[RunInputText | Input]", "dict[str, Any]"]
RunMessage = Union["RejectedMessage", "QueuedMessage", "DelayedMessage", "MergedMessage", "StartedMessage", "ResumedMessage", "ToolsUnavailableMessage", "SkillActivatedMessage", "ModelRespondedMessage", "ToolRequestedMessage", "ToolCompletedMessage", "ToolDeniedMessage", "ToolFailedMessage", "FinishedMessage", "FailedMessage", "CancelledMessage", "RetriedMessage", "LimitsChangedMessage", "WaitingMessage", "WokenMessage", "QuestionRequestedMessage", "QuestionAnsweredMessage", "ChildStartedMessage", "ChildEndedMessage", "SteeredMessage", "DeadMessage", "DeltaMessage"]
SearchedFrom = Union["Timestamp", "None"]
ServerId = str
SessionId = str
StopScope = Union["StopScopeAll", "StopScopeAgent", "StopScopeRun", "StopScopeServer", "StopScopeUser", "StopScopeKey"]
Timestamp = str
ToolFindingCode = Literal["hidden_characters", "bidi_control", "bidi_mark", "tag_characters", "control_characters", "name_imitates", "name_resembles", "cross_server_reference", "instruction_like", "encoded_payload", "schema_too_complex", "schema_not_checked", "schema_not_portable"]
ToolName = str
WaitReason = Literal["approval", "child", "question", "timer", "limit", "stopped"]

