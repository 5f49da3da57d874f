/** Written by scripts/generate.ts from the gateway's route table and the contracts. */

export type AccessKind = "tool" | "resource" | "prompt" | "sampling" | "elicitation" | "logging";

export type Address = {
  /** Name of the channel, such as `telegram`. */
  channel: ChannelName;
  /** Account of the channel, as channels.json names it. */
  accountId: string;
  /** The person, group or channel. */
  target: Target;
  /** Id of the thread; missing outside of threads. */
  threadId?: ProviderId;
};

export type AddressInput = {
  /** Name of the channel, such as `telegram`. */
  channel: ChannelName;
  /** Account of the channel, as channels.json names it. */
  accountId?: string;
  /** The person, group or channel. */
  target: Target;
  /** Id of the thread; missing outside of threads. */
  threadId?: ProviderId;
};

export type AgentDefinition = {
  /** Name of an agent: 1-64 characters of A-Z a-z 0-9 _ -. */
  name: string;
  /** Description for people and models. */
  description: string;
  /** The source. */
  source: AgentSource;
  /** SHA-256 digest that names exactly this version. */
  digest: Digest;
  /** The model; null: the default model. */
  model: ModelName | null;
  /** The system prompt. */
  systemPrompt: string;
  /** Tool patterns; null is every tool, an empty list is none. */
  tools: string[] | null;
  /** Skills whose text goes into the system prompt. */
  skills: string[];
  /** The most model calls of a run. */
  maxSteps: number;
  /** Randomness of the model's words, 0 to 2; null: the provider's default. */
  temperature: number | null;
  /** The reasoning effort of the model; left out or null: the default. */
  thinking: ThinkingLevel | null;
  /** Plan for the scripted provider, which is not AI; null without one. */
  plan: Plan | null;
  /** Names of the agent's duties, which policies and servers refer to. */
  roles: string[];
  /** Limits of the agent's runs; null is no limit of the agent's own. */
  limits: {
    /** The most tool calls of a run; null: no limit of its own. */
    maxToolCalls: number | null;
    /** The most input and output tokens of all model calls together; null: no limit. */
    maxTokens: number | null;
    /** The most that all model calls may cost, in US dollars. Calls of unknown price count as 0. */
    maxCostUsd: number | null;
    /** Time limit of a run, in milliseconds; null: no limit of the agent's own. */
    timeoutMs: number | null;
    /** The maximum depth of child runs; 0 is none, null no limit of the agent's own. */
    maxDepth: number | null;
  };
  /** The reaction when it is unknown whether a tool call was executed. */
  onUnknownOutcome: "retry" | "fail" | "ask";
  /** The least approval that each call needs from people; null: the policy decides. */
  approval: ApprovalTier | null;
  /** Tokens of the model's context window; null when it is not known. */
  contextWindow: number | null;
  /** Bytes of memories in the system prompt; null is none. */
  memoryBytes: number | null;
  /** True when all runs of the agent share one memory, for all requesters. */
  sharesMemory: boolean;
};

export type AgentImportCounts = {
  /** Files that were found. */
  found: number;
  /** Files that were loaded. */
  loaded: number;
  /** Files that were skipped. */
  skipped: number;
  /** Loaded files that wait for a person's trust. */
  withheld: number;
  /** Skipped files by the code of their first error. */
  reasons: { [name: string]: number };
};

export type AgentSource = "project" | "user" | "built-in" | "imported";

export type AgentSummary = {
  /** Name of an agent: 1-64 characters of A-Z a-z 0-9 _ -. */
  name: string;
  /** Description for people and models. */
  description: string;
  /** The source of the agent; `imported`: a client sent it. */
  source: AgentSource;
  /** SHA-256 digest that names exactly this version. */
  digest: Digest;
  /** The model; null: the default model. */
  model: ModelName | null;
};

export type AgentVersion = {
  /** SHA-256 digest that names exactly this version. */
  digest: Digest;
  /** The origin of the version. */
  provenance: Provenance;
  /** The scanner's verdict; null when the version was never scanned. */
  verdict: {
    /** Version of the scanner's rules. */
    scanner: string;
    /** The scanner's verdict; null when the version was never scanned. */
    verdict: ScanVerdict;
  } | null;
  /** When another version replaced it; it is deleted 45 days later. Null: it is current. */
  supersededAt: SearchedFrom;
};

export type Answer = string | number | boolean | { [name: string]: unknown } | unknown[];

export type AnswerContent = { [name: string]: string | number | boolean | string[] };

export type Approval = {
  /** Id of the approval. */
  id: ApprovalId;
  /** `pending` until a person decides; `approved` until the call consumes it. */
  state: ApprovalState;
  /** The approval tier of the call: `auto` needs no person, `session` one approval for a while, `always` one each time. */
  tier: AskedTier;
  /** The possible harm of the call. It decides nothing. */
  risk: Risk;
  /** Digest that binds the approval to exactly this call. Send it back as it was shown. */
  binding: Digest;
  /** For whom the policy decides: a user, or a run of a user. */
  principal: Principal;
  /** The NATS user that a credential or a subject stands for. */
  caller: string;
  /** The tool: its canonical name, its server and its name there. */
  tool: ToolRef;
  /** Digest of the tool's definition; null when it has none. */
  pin: Digest | null;
  /** Digest of the arguments as canonical JSON. */
  argsDigest: Digest;
  /** Id of the rule that decided; null when no rule matched. */
  rule: string | null;
  /** The reason why a person has to approve the call. */
  why: string;
  /** Digest of the rules in force. */
  policyDigest: Digest;
  /** Id of the tool call. A call that is repeated under its id returns the stored result. */
  callId: CallId | null;
  /** The longest lifetime of a standing approval by the rule, in milliseconds; null: no limit. */
  grantTtlMs: number | null;
  /** When the approval was requested. */
  requestedAt: Timestamp;
  /** End of the time to decide; for an approved one, of the time to make the call. */
  expiresAt: Timestamp;
  /** The person's decision; null while it is pending. */
  decision: ApprovalDecision | null;
  /** The change of the arguments by an approver; left out when they are its own. */
  edit?: ApprovalEdit;
  /** The people that the rules want; empty when one who may approve calls is enough. */
  requirements: ApprovalRequirement[];
  /** The people who have approved the call. */
  votes: ApprovalVote[];
  /** The number of approvals that all rules want together. */
  needed: number;
  /** The decisions that need a reason. */
  reasonFor: ("approvals" | "denials")[];
  /** When other people are added; null when none are. */
  escalatesAt: Timestamp | null;
  /** When the call consumed it; null before. */
  consumedAt: SearchedFrom;
  /** `executed`, or `unknown` while the provider has not reported the end; null until it is consumed. */
  execution: Execution | null;
  /** Digest of the call's result; null before. */
  resultDigest: Digest | null;
};

export type ApprovalDecision = {
  /** The NATS user that did it. */
  by: string;
  /** The way the approver's identity was established. */
  authenticated: Authentication;
  /** The channel of a decision in a chat; left out for one that was made elsewhere. */
  via?: ChannelName;
  /** `once`: this call; `session`: more calls of its kind; null for a denial. */
  scope: ApprovalScope | null;
  /** Why, in words for people. */
  reason: string | null;
  /** When it happened. */
  at: Timestamp;
};

export type ApprovalEdit = {
  /** The user that changed them. */
  by: string;
  /** When they were changed. */
  at: Timestamp;
  /** Digest of the changed arguments. */
  argsDigest: Digest;
  /** Digest of the call with the changed arguments. */
  binding: Digest;
};

export type ApprovalId = string;

export type ApprovalRequirement = {
  /** Ids of the rules that want these people. */
  rules: string[];
  /** Users and groups as the rules name them; null: those who may approve calls. */
  from: string[] | null;
  /** Globs over the names of the users in `from`. */
  users: string[];
  /** The number of distinct people who have to approve. */
  count: number;
  /** The number of people who count and have approved. */
  approved: number;
  /** True when the requester of the call does not count. */
  notRequester: boolean;
  /** When other people are added; null when none are. */
  escalatesAt: SearchedFrom;
  /** Users and groups that are added then. */
  to: string[];
  /** Globs over the names of the users in `to`. */
  toUsers: string[];
  /** Set when the rules let no approver change the arguments of the call. */
  isFixed?: true;
};

export type ApprovalScope = "once" | "session";

export type ApprovalState =
  | "pending"
  | "approved"
  | "denied"
  | "expired"
  | "cancelled"
  | "consumed";

export type ApprovalTier = "auto" | "session" | "always";

export type ApprovalVote = {
  /** The NATS user that did it. */
  by: string;
  /** The person for whom a deputy approved; null for an approver of the rule. */
  standsFor: string | null;
  /** The way the approver's identity was established. */
  authenticated: Authentication;
  /** True for a person who may approve such calls by setting, role or `approvers`. */
  isApprover: boolean;
  /** `session` covers more calls of the kind, when everybody approves so. */
  scope: ApprovalScope;
  /** Limits of a standing approval; null: none. */
  terms: GrantTerms | null;
  /** Why, in words for people. */
  reason: string | null;
  /** When it happened. */
  at: Timestamp;
};

export type ArgumentChange = {
  /** JSON pointer of the value. */
  pointer: string;
  /** The value before; null when there was none. */
  before: string | null;
  /** The value after; null when there is none. */
  after: string | null;
};

export type AskedTier = "session" | "always";

export type Attachment = {
  /** `https://…`, or the path of a file in an allowed directory. */
  source: string;
  /** Name of the file for people. */
  name?: string;
  /** Media type, such as `image/png`. */
  mimeType?: string;
  /** SHA-256 that the bytes must have, in hexadecimal digits; other bytes are refused. */
  sha256?: string;
};

export type AuditWriterId = string;

export type AuditedRecord = {
  /** Version of the record's form. */
  v: 1;
  /** The service that wrote it. */
  service: string;
  /** Id of the process that wrote the chain. */
  writer: AuditWriterId;
  /** Number of the entry, from 1 and without a gap. */
  seq: number;
  /** When it happened. */
  at: Timestamp;
  /** Hash of the record before; null for the first one. */
  prev: Digest | null;
  /** SHA-256 over the record, its writer and the hash before. */
  hash: Digest;
  /** Kind of the record; its other fields depend on it. */
  kind: string;
  [name: string]: unknown;
};

export type Authentication = "nats-user" | "user-token" | "policy-service" | "chat-link";

export type BuiltinInfo = {
  /** Name of the tool. */
  name: ToolName;
  /** Description for people and models. */
  description: string;
  /** JSON Schema of the arguments. */
  inputSchema: {
    /** Selects the form of this object; its other fields depend on it. */
    type: "object";
    [name: string]: unknown;
  };
  /** The approval tier of a call where no rule decides it. */
  tier: ApprovalTier;
};

export type BusyPolicy = "enqueue" | "steer" | "interrupt" | "reject";

export type CallContext = {
  /** Name of the agent. */
  agent: string;
  /** The NATS user whose command started the run. */
  requester: string;
  /** Input of the run, cut to 4 KiB. */
  input: string;
  /** The last text of the model up to the call, cut to 4 KiB. */
  modelText: string;
  /** Tool calls, the oldest first. */
  calls: PrecedingCall[];
  /** The number of calls before those in `calls`. */
  earlierCalls: number;
};

export type CallId = string;

export type CallMeta = { [name: string]: unknown };

export type Cancellation = {
  /** The user that cancelled it. */
  by: string;
  /** Why, in words for people. */
  reason: PromptName | null;
};

export type Capabilities = {
  /** The supported actions. */
  actions: ChannelAction[];
  /** The longest text of one message, in UTF-16 units. */
  maxTextLength: number;
  /** Supported attachments; null: none. */
  media: {
    /** Kinds of attachments. */
    kinds: MediaKind[];
    /** The limit in bytes. */
    maxBytes: number;
  } | null;
  /** Names of the effects. */
  effects: string[];
  /** The naming of threads; `none` without threads. */
  threads: "none" | "reply" | "topic" | "channel";
  /** The accepted form of an emoji. */
  reactions: "none" | "unicode" | "named" | "any";
  /** True when the provider drops a message that is sent again. */
  idempotentSend: boolean;
};

export type CapabilityUse = {
  /** Names that the frontmatter declares. */
  declared: string[];
  /** Names that body and scripts use. */
  used: string[];
  /** Names that are used and not declared. */
  undeclared: string[];
};

export type Changes = {
  /** The added parts. */
  added: string[];
  /** The removed parts. */
  removed: string[];
};

export type ChannelAccount = {
  /** Name of the channel, such as `telegram`. */
  channel: ChannelName;
  /** Account of the channel, as channels.json names it. */
  accountId: string;
  /** The user in whose name its messages become runs. */
  caller: string;
  /** The agent that answers; null: none. */
  agent: string | null;
  /** State of the connection for incoming messages; `standby`: another replica has it. */
  inbound: "connected" | "connecting" | "standby" | "error" | "none";
  /** The reason of this state, without secrets; null without a problem. */
  problem: string | null;
  /** The supported features. */
  capabilities: Capabilities;
};

export type ChannelAction =
  | "send"
  | "reply"
  | "thread"
  | "react"
  | "delete"
  | "pin"
  | "read"
  | "resolve"
  | "attachments"
  | "effects"
  | "silent";

export type ChannelName = string;

export type ChatLink = {
  /** Id of the link. */
  id: ChatLinkId;
  /** The caller in whose name the person decides. */
  caller: string;
  /** Name of the channel, such as `telegram`. */
  channel: ChannelName;
  /** The account of `channels.json` to which the person wrote. */
  accountId: string;
  /** The provider's stable id of the person, never a name. */
  personId: ProviderId;
  /** True: calls that the caller may decide about are sent to the private chat. */
  asks: boolean;
  /** When the person sent the code. */
  linkedAt: Timestamp;
  /** When the link ends. */
  expiresAt: Timestamp;
};

export type ChatLinkCode = string;

export type ChatLinkId = string;

export type CheckedSkill = {
  /** Path of the file, with `/`. */
  file: string;
  /** Name of the skill; null when the file does not load. */
  name: string | null;
  /** True when the file loads. */
  loads: boolean;
  /** True when the file's YAML is broken and was read after a repair. */
  repaired: boolean;
  /** True when so little could be read that a person should review it. */
  needsReview: boolean;
  /** Results of the checks against other formats; present only when requested. */
  conformance: Conformance[];
  /** Remarks about the file, with their lines. */
  diagnostics: Diagnostic[];
};

export type CircuitState = "closed" | "open" | "half_open";

export type Conformance = {
  /** The format. */
  target: SkillTarget;
  /** True when the file fits the format. */
  conforms: boolean;
  /** The problems: the path of each value, and its problem. */
  problems: {
    /** Stable snake_case code of the problem. */
    code: string;
    /** A description of the event, for people. */
    message: string;
    /** Line in the file, from 1; null when it is about the whole file. */
    line: number | null;
  }[];
};

export type ConsideredLimit = {
  /** The kind of limit on the call. */
  kind:
    | "stop"
    | "server"
    | "token"
    | "layer"
    | "owner"
    | "sub-agent"
    | "flow"
    | "budget"
    | "window";
  /** Name of the limit. */
  name: string;
  /** False when it denies the call or requires a person. */
  passes: boolean;
  /** The facts behind the result. */
  detail: string;
};

export type ConsideredRule = {
  /** Id of the rule. */
  rule: string;
  /** The decision: `allow`, `deny`, or `ask` when a person has to approve the call. */
  effect: "allow" | "deny";
  /** True when the rule matches the call. */
  match: boolean;
  /** The first part that does not fit; null when the rule matches. */
  failed: RuleMismatch | null;
  /** The approval tier of the call: `auto` needs no person, `session` one approval for a while, `always` one each time. */
  tier?: ApprovalTier;
};

export type ContentBlock = {
  /** Selects the form of this object; its other fields depend on it. */
  type: string;
  [name: string]: unknown;
};

export type ContentPart =
  | {
      /** Selects the form of this object; its other fields depend on it. */
      type: "text";
      /** The text. */
      text: string;
    }
  | FilePart;

export type ContentParts = ContentPart[];

export type Credential = string;

export type DeadLetter = {
  /** The run that the command names or would have become. */
  runId: RunId;
  /** Subject that the message was published on. */
  subject: string;
  /** The NATS user that a credential or a subject stands for. */
  caller: string;
  /** Position of the command in its stream; 0 for a request that was no command. */
  streamSequence: number;
  /** When it was sent; null for a dry run. */
  sentAt: Timestamp;
  /** The reason of the failure: a code and a message. */
  failure: RunFailure;
  /** Id for `runs.redrive`. */
  id?: LetterId;
  /** True when its text was stored, so that it can be sent again. */
  canRedrive?: boolean;
};

export type DeadRun = {
  /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
  runId: RunId;
  /** Name of the agent. */
  agent: string;
  /** The NATS user whose command started the run. */
  requester: string;
  /** The model, as `provider/model`. */
  model: ModelName;
  /** Always `dead`. */
  status: RunStatus;
  /** Model calls so far. */
  steps: number;
  /** Tool calls so far. */
  toolCalls: number;
  /** When it was created. */
  createdAt: Timestamp;
  /** When it changed last. */
  updatedAt: Timestamp;
  /** The number of times a runner picked the run up; 0 until one has. */
  attempts: number;
  /** Labels that the command gave the run. */
  labels: { [name: string]: string };
  /** Tokens of the model calls. */
  usage?: Usage;
  /** Cost of the model calls in US dollars; null when the price of a model is unknown. */
  costUsd?: number | null;
  /** Reasons for `waiting`, each once. */
  waitsFor?: WaitReason[];
  /** With `running`: what keeps the run from continuing. The runner retries. */
  suspended?: string;
  /** The first 200 characters of the input, in one line. */
  inputStart?: string;
  /** With `failed` and `dead`: the code of the failure. */
  errorCode?: string;
  /** The reason of the failure: a code and a message. */
  failure: RunFailure;
};

export type Decision = {
  /** The decision: `allow`, `deny`, or `ask` when a person has to approve the call. */
  effect: "allow" | "deny" | "ask";
  /** Id of the rule that decided; null when no rule matched. */
  rule: string | null;
  /** Why, in words for people. */
  reason: string;
  /** Digest of the rules in force. */
  policyDigest: Digest;
  /** The approval tier of the call: `auto` needs no person, `session` one approval for a while, `always` one each time. */
  tier?: ApprovalTier;
  /** With the tier `session`: how long one approval may stay valid, in milliseconds. */
  ttlMs?: number;
  /** The rules that state who has to approve the call; all of them count. */
  approveRules?: string[];
  /** The number of findings of each kind in the arguments, where a rule looks for them; never values. */
  found?: { [name: string]: number };
  /** The inspection that the tool provider makes: of the result, and of masks in the arguments. */
  inspection?: {
    /** The kinds to look for in the result, each with its effect and rule. */
    results: {
      [name: string]: {
        /** The effect on the result: it is masked or withheld. */
        effect: "mask" | "deny";
        /** Id of the rule that decided; null when no rule matched. */
        rule: string;
      };
    };
    /** The kinds of masks in the arguments that the tool gets the values of. */
    unmask: ("secret" | "iban" | "card" | "ssn" | "host" | "injection")[];
  };
  /** The stop that denies the call. The call may pass once the stop is lifted. */
  stop?: StopInForce;
};

export type DeliveryStatus = "delivered" | "not-delivered" | "unknown" | "not-requested";

export type Diagnostic = {
  /** The severity; an error keeps the file from loading. */
  severity: "error" | "warning" | "info";
  /** Stable snake_case code of the problem. */
  code: string;
  /** A description of the event, for people. */
  message: string;
  /** Path of the file, with `/`. */
  file: string;
  /** Line in the file, from 1; null when it is about the whole file. */
  line: number | null;
  /** Column in the line, from 1; null when it is about the whole line. */
  column: number | null;
  /** The line that it is about, shortened. */
  excerpt?: string;
  /** The fix: lines to replace. */
  patch?: {
    /** Line in the file, from 1; null when it is about the whole file. */
    line: number;
    /** The lines as they are. */
    before: string;
    /** The lines as they should be. */
    after: string;
  };
};

export type Digest = string;

export type Execution = "executed" | "unknown";

export type FileName = string;

export type FilePart = {
  /** Selects the form of this object; its other fields depend on it. */
  type: "file";
  /** Id of the file: `file-` and 32 hexadecimal digits. */
  ref: FileRef;
  /** Name of the file for people; it is never used as a path. */
  name: FileName;
  /** Media type as the bytes show it. */
  mediaType: MediaType;
  /** Size in bytes. */
  sizeBytes: number;
  /** SHA-256 of the bytes, in hexadecimal. */
  sha256: string;
};

export type FileRef = string;

export type GrantId = string;

export type GrantTerms = {
  /** Longest lifetime in milliseconds; null: the rule's. */
  ttlMs: number | null;
  /** The most calls; null: as many as the service allows. */
  maxUses: number | null;
  /** JSON pointers of arguments that must have the approved call's values. */
  sameArguments: string[];
};

export type IfVersion = string;

export type ImportCounts = {
  /** Files that were found. */
  found: number;
  /** Files that were loaded. */
  loaded: number;
  /** Loaded files whose YAML was repaired. */
  repaired: number;
  /** Files that were skipped. */
  skipped: number;
  /** Loaded files that wait for a person's trust. */
  withheld: number;
  /** Skipped files by the code of their first error. */
  reasons: { [name: string]: number };
};

export type ImportedAgent = {
  /** Path of the file, with `/`. */
  file: string;
  /** Name of the agent; null when the file does not load. */
  name: string | null;
  /** Description for people and models. */
  description: string;
  /** Digest of the file; null when it does not load. */
  digest: Digest | null;
  /** The outcome for the file. */
  outcome: "loaded" | "skipped" | "not_an_agent";
  /** Compared with the listed version; `hidden`: a file of the importer has the name. */
  change: "new" | "changed" | "same" | "hidden" | null;
  /** The reason why it is stored and not listed; null when it is listed. */
  withheld: WithheldReason | null;
  /** Remarks about the file, with their lines. */
  diagnostics: Diagnostic[];
  /** Report of the scanner; null when the version was never scanned. */
  scan?: ScanReport;
};

export type ImportedSkill = {
  /** Path of the file, with `/`. */
  file: string;
  /** Name of the skill; null when the file does not load. */
  name: string | null;
  /** Description for people and models. */
  description: string;
  /** The version of its files; null when the file does not load. */
  version: Digest | null;
  /** The outcome for the file. */
  outcome: "loaded" | "repaired" | "skipped";
  /** Compared with the listed version; `hidden`: a file of the importer has the name. */
  change: "new" | "changed" | "same" | "hidden" | null;
  /** The reason why it is stored and not listed; null when it is listed. */
  withheld: WithheldReason | null;
  /** True when its requirements are met; null when it declares none. */
  dependenciesMet: boolean | null;
  /** Requirements that are not met. */
  dependencyWarnings: string[];
  /** Remarks about the file, with their lines. */
  diagnostics: Diagnostic[];
  /** Results of the checks against other formats; present only when requested. */
  conformance?: Conformance[];
  /** Report of the scanner; null when the version was never scanned. */
  scan?: ScanReport;
};

export type JobCatchUp = "once" | "skip";

export type JobDelivery = {
  /** `announce` in a channel, `webhook` to a URL, or `none`. */
  mode: "none" | "announce" | "webhook";
  /** For `announce`: the channel, or `last` for where an owner wrote last. */
  channel?: IfVersion;
  /** Target in the channel, such as `user:42`; for a webhook its URL. */
  to?: ResourceUri;
  /** Account of the channel, as channels.json names it. */
  accountId?: IfVersion;
  /** True: the job succeeds even when its answer cannot be delivered. */
  bestEffort?: boolean;
};

export type JobOverlap = "skip" | "queue" | "parallel";

export type JobPayload = {
  /** `systemEvent` posts a text in the main session; `agentTurn` starts a run. */
  kind: "systemEvent" | "agentTurn";
  /** For `systemEvent`: the text. */
  text?: SteerMessage;
  /** For `agentTurn`: the input of the run. */
  message?: SteerMessage;
  /** The model, as `provider/model`. */
  model?: ModelName;
  /** The reasoning effort of the model; left out or null: the default. */
  thinking?: ThinkingLevel;
  /** Time limit of the run in seconds; 0: the agent's own. */
  timeoutSeconds?: number;
};

export type JobRunStatus = "ok" | "error" | "skipped";

export type JobSchedule = {
  /** `at` a time, `every` interval, or by a `cron` expression. */
  kind: "at" | "every" | "cron";
  /** For `at`: ISO 8601; without a zone it is UTC. */
  at?: string;
  /** For `every`: the interval in milliseconds, at least 1,000. */
  everyMs?: number;
  /** For `every`: the time to count from, in milliseconds since 1970; left out: the creation. */
  anchorMs?: number;
  /** For `cron`: five or six fields. */
  expr?: string;
  /** For `cron`: an IANA time zone; left out: UTC. */
  tz?: string;
  /** For `cron`: a stable delay below so many milliseconds. */
  staggerMs?: number;
};

export type JobSource = {
  /** The kind of source that makes the job due; `message`: messages on a subject. */
  kind: "at" | "every" | "cron" | "message";
  /** When it happened. */
  at?: string;
  /** For `every`: the interval in milliseconds, at least 1,000. */
  everyMs?: number;
  /** For `every`: the time to count from, in milliseconds since 1970; left out: the creation. */
  anchorMs?: number;
  /** For `cron`: five or six fields. */
  expr?: string;
  /** For `cron`: an IANA time zone; left out: UTC. */
  tz?: string;
  /** For `cron`: a stable delay below so many milliseconds. */
  staggerMs?: number;
  /** For `message`: the subject, which may have wildcards. */
  subject?: string;
  /** For `message`: the JetStream stream to read from. */
  stream?: string;
};

export type JobState = {
  /** When it is due next, in milliseconds since 1970; missing: never. */
  nextRunAtMs?: number;
  /** When the run in progress began, in milliseconds since 1970. */
  runningAtMs?: number;
  /** When it ran last, in milliseconds since 1970. */
  lastRunAtMs?: number;
  /** The outcome of the last run. */
  lastRunStatus?: JobRunStatus;
  /** The reason why the last run failed. */
  lastError?: string;
  /** The duration of the last run, in milliseconds. */
  lastDurationMs?: number;
  /** Failed runs in a row. */
  consecutiveErrors: number;
  /** Failures to compute the next due time in a row. */
  scheduleErrorCount: number;
  /** True when the last answer was delivered. */
  lastDelivered?: boolean;
  /** The delivery status of the last answer. */
  lastDeliveryStatus?: DeliveryStatus;
  /** The reason why the last answer was not delivered. */
  lastDeliveryError?: string;
};

export type KeepForMs = number;

export type LetterId = string;

export type LintFinding = {
  /** The kind of finding about the rule. */
  kind:
    | "dead"
    | "shadowed"
    | "duplicate"
    | "conflict"
    | "unknown-tools"
    | "open-shell"
    | "unapprovable"
    | "incomplete";
  /** Id of the rule; null when it is about the whole bundle. */
  rule: string | null;
  /** A description of the event, for people. */
  message: string;
};

export type ListCursor = string;

export type ListedSkill = {
  /** Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -. */
  name: string;
  /** SHA-256 digest that names exactly this version. */
  digest: Digest;
  /** Estimated tokens. */
  tokens: number;
  /** True when its description is cut. */
  shortened: boolean;
};

export type LogLevel =
  | "debug"
  | "info"
  | "notice"
  | "warning"
  | "error"
  | "critical"
  | "alert"
  | "emergency";

export type LoginRevocation = "revoked" | "not_offered" | "failed";

export type MediaKind = "image" | "audio" | "video" | "file";

export type MediaType = string;

export type MemoryInPrompt = {
  /** All memories of the agent. */
  kept: number;
  /** Memories in the prompt with their text. */
  given: number;
  /** Memories in the prompt by name alone. */
  named: number;
  /** The reason why the run may not read the memories; missing when it may. */
  refused?: string;
};

export type MessageFiles = FilePart[];

export type ModelName = string;

export type ModelProvider = {
  /** The part of a model's name before the first slash. */
  name: string;
  /** Kind of the provider; `scripted` is not AI. */
  type: string;
  /** False when the provider needs a key that the runner does not have. */
  hasKey: boolean;
  /** Environment variable that the key is read from. */
  keyVariable?: string;
};

export type NamedRunSums = {
  /** Number of runs. */
  runs: number;
  /** The failed and dead ones among them. */
  failed: number;
  /** Known cost of their model calls in US dollars. */
  costUsd: number;
  /** Runs with a model call whose price is unknown. */
  unpriced: number;
  /** Input tokens of all their model calls. */
  inputTokens: number;
  /** Output tokens of all their model calls. */
  outputTokens: number;
  /** Name of the agent, model or requester, or code; null: all others. */
  name: string | null;
};

export type NextCursor = string | null;

export type OnLimit = "pause" | "fail";

export type OwaspAst =
  | "AST01"
  | "AST02"
  | "AST03"
  | "AST04"
  | "AST05"
  | "AST06"
  | "AST07"
  | "AST08"
  | "AST09"
  | "AST10";

export type PinDifference = {
  /** JSON pointer to the position; the empty one is the whole. */
  where: string;
  /** The value before; null when there was none. */
  before: string | null;
  /** The value after; null when there is none. */
  after: string | null;
};

export type PinState = "pending" | "approved" | "changed" | "blocked";

export type Plan = {
  /** The steps, in order. */
  steps: PlanStep[];
  /** The answer after the last step. */
  answer: SteerMessage;
  /** Pause before the answer begins, in milliseconds. */
  delayMs?: number;
  /** Pause before each piece of text, in milliseconds. */
  chunkDelayMs?: number;
  /** Characters of a piece of text. */
  chunkChars?: number;
};

export type PlanCall = {
  /** Canonical tool name, or a built-in such as `skill`. */
  tool: IfVersion;
  /** Arguments of the call, by name. */
  with: { [name: string]: unknown };
  /** Arguments as the model writes them, in place of `with`. */
  raw?: string;
  /** Name under which the result is stored. */
  as?: string;
};

export type PlanCondition = {
  /** JSON pointer of the value, such as `/last/isError`. */
  at: string;
  /** The value that must be there. */
  equals?: string | number | boolean | null;
  /** A text that the value must contain. */
  contains?: string;
  /** True: the condition is inverted. */
  not?: boolean;
};

export type PlanFailure = {
  /** Kind of the failure. */
  how: "rate-limit" | "overloaded" | "bad-request" | "cut" | "silence";
  /** The maximum number of times. */
  times: number;
  /** For `rate-limit`: the value of Retry-After, in milliseconds. */
  retryAfterMs?: number;
};

export type PlanStep = {
  /** The step is passed over unless this holds. */
  when?: PlanCondition;
  /** Text of the model beside its calls. */
  say?: string;
  /** Tool calls of the step. */
  calls: PlanCall[];
  /** Ends the run with this answer, in place of calls. */
  answer?: SteerMessage;
  /** Plays the step again while its condition holds. */
  repeat?: {
    /** The condition. */
    while: PlanCondition;
    /** The maximum number of times. */
    times: number;
  };
  /** A failure of the provider on purpose. */
  fail?: PlanFailure;
  /** Pause before the answer begins, in milliseconds. */
  delayMs?: number;
  /** Pause before each piece of text, in milliseconds. */
  chunkDelayMs?: number;
  /** Characters of a piece of text. */
  chunkChars?: number;
};

export type PolicyFiles = PolicyTextFile[];

export type PolicyProblem = {
  /** The location of the problem: in the rules or in the tests. */
  in: "bundle" | "tests";
  /** Path of the file, with `/`. */
  file?: string;
  /** Line in the file, from 1; null when it is about the whole file. */
  line: number;
  /** Column in the line, from 1; null when it is about the whole line. */
  column: number;
  /** A description of the event, for people. */
  message: string;
};

export type PolicyResultRule = {
  /** Id of the rule. */
  id: string;
  /** The effect on the result: it is masked or withheld. */
  effect: "mask" | "deny";
  /** Whom the rule is about, in words. */
  who: string;
  /** Kind of the repeated records. */
  what: string;
  /** The kinds of content that the rule looks for. */
  finds: string;
};

export type PolicyRule = {
  /** Id of the rule. */
  id: string;
  /** The decision: `allow`, `deny`, or `ask` when a person has to approve the call. */
  effect: "allow" | "deny";
  /** The approval tier of the call: `auto` needs no person, `session` one approval for a while, `always` one each time. */
  tier?: ApprovalTier;
  /** The people who have to approve, in words; absent when one person who may approve calls is enough. */
  approve?: string;
  /** Whom the rule is about, in words. */
  who: string;
  /** Kind of the repeated records. */
  what: string;
  /** Conditions that the arguments must meet, in words; empty for any arguments. */
  when: string[];
  /** Kinds of masked values that the tool gets. */
  unmask?: string;
  /** A remark for people, one line. */
  note: string | null;
};

export type PolicyTestResult = {
  /** Name of the test. */
  name: string;
  /** Path of the file, with `/`. */
  file?: string;
  /** Line in the file, from 1; null when it is about the whole file. */
  line: number;
  /** True when the decision is the expected one. */
  passed: boolean;
  /** Expected and actual decision; null when it passed. */
  message: string | null;
};

export type PolicyTextFile = {
  /** File name without directories; `.test.yaml` marks tests. */
  name: string;
  /** The YAML text. */
  text: string;
};

export type PolicyVersion = {
  /** Number of the version, from 1; never used twice. */
  version: number;
  /** Digest of the rules in force. */
  policyDigest: Digest;
  /** The number of rules in the bundle. */
  rules: number;
  /** `file`: from disk; `activated`: sent by an admin. */
  source: "file" | "activated";
  /** The user that activated it; null for files on disk. */
  by: string | null;
  /** When it happened. */
  at: Timestamp;
  /** A remark for people, one line. */
  note: string | null;
};

export type PrecedingCall = {
  /** Name of the tool. */
  tool: string;
  /** JSON of the arguments with secrets masked, cut to 1 KiB. */
  argsPreview: string;
  /** `open` while there is no result; `error` when it was denied or failed. */
  outcome: "done" | "error" | "open";
  /** The beginning of the text, at most 1 KiB. */
  preview: string;
};

export type Presentation = {
  /** Canonical JSON of the arguments; secrets are replaced by length and digest. */
  args: string;
  /** Size of all arguments, in bytes. */
  argsBytes: number;
  /** True when `args` is not complete. */
  isCut: boolean;
  /** True when invisible characters were written as escapes. */
  hasHiddenCharacters: boolean;
  /** True when secrets were masked. */
  hasRedactions: boolean;
  /** Differences from the last approved call of the tool; null when there was none. */
  changes: ArgumentChange[] | null;
};

export type Principal = {
  /** The NATS user that it is about. */
  user: string;
  /** The agent; null when a person or a program calls the tool directly. */
  agent: string | null;
  /** The run; null when a person or a program calls the tool directly. */
  runId: RunId | null;
  /** The roles, each once. */
  roles?: string[];
  /** The least approval that each call needs from people. */
  approval?: ApprovalTier;
  /** The origin of the run. */
  context?: RunContext;
};

export type PrincipalInput = {
  /** The NATS user that it is about. */
  user: string;
  /** The agent; null when a person or a program calls the tool directly. */
  agent: string | null;
  /** The run; null when a person or a program calls the tool directly. */
  runId: RunId | null;
  /** The roles, each once. */
  roles?: string[];
  /** The least approval that each call needs from people. */
  approval?: ApprovalTier;
  /** The origin of the run. */
  context?: RunContext;
};

export type PromptInfo = {
  /** Name of the prompt. */
  name: PromptName;
  [name: string]: unknown;
};

export type PromptMessage = {
  /** The speaker's role. */
  role: "user" | "assistant";
  /** A content block of MCP. */
  content: ContentBlock;
  [name: string]: unknown;
};

export type PromptName = string;

export type Provenance = {
  /** `root`: a directory of the importer. `upload` or `archive`: a client sent it. */
  source: "root" | "upload" | "archive";
  /** The directory, or the sender's name for the source. */
  label: string;
  /** The NATS user that did it. */
  by: string;
  /** When it happened. */
  at: Timestamp;
  /** The git checkout that contained the files; null without one. */
  git: {
    /** The repository, without user and password; null when it is not known. */
    url: string | null;
    /** The commit; null when it is not known. */
    commit: string | null;
  } | null;
};

export type ProviderId = string;

export type Question = {
  /** Id of the question. */
  id: QuestionId;
  /** Id of the MCP server. */
  server: ServerId;
  /** `pending` until one of the others; `lost`: the request or connection ended. */
  state: QuestionState;
  /** `form` asks for fields; `url` asks to open an address. */
  mode: "form" | "url";
  /** The server's words. Show them as the server's. */
  message: string;
  /** The fields to fill in; null for an address. */
  form: QuestionForm | null;
  /** The address to open; null for a form. */
  url: string | null;
  /** Principals of the requests that the server works on; their users may answer. */
  askedFor: Principal[];
  /** When the question came. */
  askedAt: Timestamp;
  /** When it ends; from then on it has no effect. */
  expiresAt: Timestamp;
  /** When it ended; null while it is pending. */
  endedAt: SearchedFrom;
  /** The user that answered; null before. */
  answeredBy: string | null;
};

export type QuestionChoice = {
  /** The value. */
  const: string;
  /** Title for people. */
  title?: string;
};

export type QuestionField =
  | {
      /** Title for people. */
      title?: string;
      /** Description for people and models. */
      description?: string;
      /** Selects the form of this object; its other fields depend on it. */
      type: "string";
      /** The choices. */
      oneOf: QuestionChoice[];
      /** The value when none is given. */
      default?: string;
    }
  | {
      /** Title for people. */
      title?: string;
      /** Description for people and models. */
      description?: string;
      /** Selects the form of this object; its other fields depend on it. */
      type: "string";
      /** The permitted values. */
      enum: string[];
      /** Titles of the permitted values, in their order. */
      enumNames?: string[];
      /** The value when none is given. */
      default?: string;
    }
  | {
      /** Title for people. */
      title?: string;
      /** Description for people and models. */
      description?: string;
      /** Selects the form of this object; its other fields depend on it. */
      type: "string";
      /** The least characters. */
      minLength?: number;
      /** The most characters. */
      maxLength?: number;
      /** Format of the text. */
      format?: "email" | "uri" | "date" | "date-time";
      /** The value when none is given. */
      default?: string;
    }
  | {
      /** Title for people. */
      title?: string;
      /** Description for people and models. */
      description?: string;
      /** Selects the form of this object; its other fields depend on it. */
      type: "number" | "integer";
      /** The least value. */
      minimum?: number;
      /** The greatest value. */
      maximum?: number;
      /** The value when none is given. */
      default?: number;
    }
  | {
      /** Title for people. */
      title?: string;
      /** Description for people and models. */
      description?: string;
      /** Selects the form of this object; its other fields depend on it. */
      type: "boolean";
      /** The value when none is given. */
      default?: boolean;
    }
  | {
      /** Title for people. */
      title?: string;
      /** Description for people and models. */
      description?: string;
      /** Selects the form of this object; its other fields depend on it. */
      type: "array";
      /** The fewest values. */
      minItems?: number;
      /** The most values. */
      maxItems?: number;
      /** The permitted values. */
      items:
        | {
            /** The permitted values. */
            enum: string[];
          }
        | {
            /** The choices. */
            anyOf: QuestionChoice[];
          };
      /** The value when none is given. */
      default?: string[];
    };

export type QuestionForm = {
  /** The fields, by name. */
  fields: { [name: string]: QuestionField };
  /** Names of the required fields. */
  required: string[];
};

export type QuestionId = string;

export type QuestionState = "pending" | "accepted" | "declined" | "cancelled" | "expired" | "lost";

export type ReachedLimit = {
  /** Name of the limit, such as `maxSteps`. */
  limit: string;
  /** Value of the limit. */
  value: number;
  /** Set for a limit of all runs of one NATS user together. */
  team?: {
    /** The NATS user. */
    name: string;
    /** The time after which the count begins again. */
    per: "hour" | "day" | "month";
  };
};

export type ReadMessage = {
  /** Id of the message at its provider. */
  messageId: string;
  /** The author. */
  author: {
    /** Id at the provider. */
    id: string;
    /** Name for people. */
    name?: string;
  };
  /** The text. */
  text: string;
  /** When it happened. */
  at: Timestamp;
  /** True for a message that this account sent. */
  isOwn: boolean;
  /** The message that this one replies to. */
  replyToMessageId?: string;
  /** Id of the thread; missing outside of threads. */
  threadId?: string;
  /** Attached files. */
  attachments: {
    /** Name of the file; missing when the provider gives none. */
    name?: string;
    /** Media type, such as `image/png`. */
    mimeType?: string;
  }[];
  /** The accepted form of an emoji. */
  reactions?: string[];
  /** True when the message is pinned in its chat. */
  isPinned?: boolean;
};

export type RecordedAnswer = {
  /** Digests of the request to the model. */
  request: RecordedRequest;
  /** Parts of the answer. */
  content: (
    | {
        /** Selects the form of this object; its other fields depend on it. */
        type: "text" | "reasoning";
        /** The text. */
        text: string;
      }
    | {
        /** Selects the form of this object; its other fields depend on it. */
        type: "tool-call";
        /** Id that the model gave the tool call. */
        toolCallId: string;
        /** Name of the tool. */
        tool: string;
        /** Arguments of the tool call. */
        input: unknown;
      }
  )[];
  /** The reason why the model ended its answer. */
  finishReason: "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";
  /** Tokens of the model calls. */
  usage: {
    /** Tokens of the prompts. */
    inputTokens: number;
    /** Tokens of the answers. */
    outputTokens: number;
  };
  /** The model that answered, as its provider names it. */
  servedModel: string;
};

export type RecordedDecisionInput = {
  /** For whom the policy decides: a user, or a run of a user. */
  principal: PrincipalInput;
  /** The kind of request; missing means a tool call. */
  access: AccessKind;
  /** The tool: its canonical name, its server and its name there. */
  tool: ToolRef;
  /** Facts about the tool's server, from its declaration. */
  server?: ServerFacts;
  /** Tool patterns of the run token; null when the audit does not have them. */
  layers?: string[][] | null;
  /** Arguments of the call, by name. */
  args?: { [name: string]: unknown };
  /** Digests of the arguments, and where the setting turns that on the arguments encrypted. */
  values?: RecordedValues;
  /** Digest of the arguments as canonical JSON. */
  argsDigest?: Digest;
  /** When it happened. */
  at?: Timestamp;
};

export type RecordedRequest = {
  /** Digest of the system prompt. */
  instructions: string;
  /** The number of messages in the request. */
  messages: number;
  /** Digest of the messages before the previous answer and of that answer. */
  earlier: string;
  /** Digests of the messages since the answer before. */
  since: string[];
};

export type RecordedRun = {
  /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
  runId: RunId;
  /** Name of the agent. */
  agent: string;
  /** Input of the run: a text, a list of texts and files, or a JSON object. At most 4 MiB as JSON. */
  input: RunInput;
  /** Name of the skill. */
  skill?: string;
  /** JSON Schema of the answer that the command requested. */
  output?: { [name: string]: unknown };
  /** The model, as `provider/model`. */
  model: ModelName;
  /** The recorded answers, for `replay` of a run. */
  recording: Recording;
};

export type RecordedSummary = {
  /** The number of answers that it replaces. */
  upTo: number;
  /** The summary. */
  text: string;
  /** Tokens of the model calls. */
  usage: {
    /** Tokens of the prompts. */
    inputTokens: number;
    /** Tokens of the answers. */
    outputTokens: number;
  };
};

export type RecordedValues = {
  /** Identifies the key of the digests. */
  key: string;
  /** By JSON pointer, the letter of a value's type and behind it its digest. */
  digests: { [name: string]: string };
  /** Present when the call had more arguments. */
  isCut?: true;
  /** The arguments, encrypted. */
  sealed?: string;
};

export type Recording = {
  /** Version of the recording's form. */
  version: 1;
  /** Answers of the models, in order. */
  answers: RecordedAnswer[];
  /** Summaries that replaced earlier answers. */
  summaries: RecordedSummary[];
  /** Tokens of the model's context window; null when it is not known. */
  contextWindow?: number;
};

export type RecordingInput = {
  /** Version of the recording's form. */
  version: 1;
  /** Answers of the models, in order. */
  answers: RecordedAnswer[];
  /** Summaries that replaced earlier answers. */
  summaries?: RecordedSummary[];
  /** Tokens of the model's context window; null when it is not known. */
  contextWindow?: number;
};

export type RegisteredSkill = {
  /** The skill as a plugin registry shows it. */
  manifest: SkillManifest;
  /** The command that people type. */
  command: SlashCommand;
  /** Digest of all files. */
  digest: Digest;
  /** The text of the instructions. */
  instructions: string;
  /** Remarks that change nothing. */
  warnings: string[];
  /** True when its requirements are met; null when it declares none. */
  dependenciesMet: boolean;
  /** Directory of the skill, relative to the importer's root. */
  sourcePath: string;
  /** The way the skill was registered. */
  registration: {
    /** Always `local`. */
    source: "local";
    /** Always `openclaw-importer`. */
    installer: "openclaw-importer";
  };
};

export type ReplayedDecision =
  | {
      /** Selects the form of this object; its other fields depend on it. */
      kind: "decided";
      /** The decision: `allow`, `deny`, or `ask` when a person has to approve the call. */
      effect: "allow" | "deny" | "ask";
      /** The approval tier of the call: `auto` needs no person, `session` one approval for a while, `always` one each time. */
      tier?: ApprovalTier;
      /** Id of the rule that decided; null when no rule matched. */
      rule: string | null;
      /** Why, in words for people. */
      reason: string;
    }
  | {
      /** Selects the form of this object; its other fields depend on it. */
      kind: "unknown";
      /** The facts that a result lacks: `arguments`, `values` (digests do not answer the condition), `right` (to read encrypted values), `key` (of the digests), `layers`, `time` or `history`. */
      needs: "arguments" | "values" | "right" | "key" | "layers" | "time" | "history";
      /** The condition that could not be answered. */
      about?: string;
    };

export type ResourceContent = {
  /** URI of the resource. */
  uri: string;
  /** Media type, such as `image/png`. */
  mimeType?: string;
  /** The text; missing for bytes. */
  text?: string;
  /** The bytes in base64; missing for text. */
  blob?: string;
  [name: string]: unknown;
};

export type ResourceInfo = {
  /** URI of the resource. */
  uri: ResourceUri;
  /** Name of the resource. */
  name: string;
  [name: string]: unknown;
};

export type ResourceTemplateInfo = {
  /** URI template (RFC 6570). */
  uriTemplate: ResourceUri;
  /** Name of the template. */
  name: string;
  [name: string]: unknown;
};

export type ResourceUri = string;

export type Risk = "low" | "medium" | "high";

export type RuleMismatch = {
  /** The part of the rule, such as `what.tools` or `when[0]`. */
  part: string;
  /** The value that the rule requires; a long one is cut. */
  expected: string;
  /** The value that the call has; a long one is cut. */
  got: string;
};

export type RunAuthority = {
  /** The roles, each once. */
  roles: string[];
  /** The least approval that each call needs from people. */
  approval?: ApprovalTier;
  /** The origin of the run. */
  context: RunOrigin;
  /** Tool patterns of the run's token, such as the agent's `tools`. */
  toolLayers: string[][];
};

export type RunChat = {
  /** The address. */
  address: Address;
  /** Id of the message at its provider. */
  messageId?: ProviderId;
  /** The author of the message. */
  sender?: {
    /** Id at the provider. */
    id: ProviderId;
    /** Name for people. */
    name?: string;
  };
};

export type RunChild = {
  /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
  runId: RunId;
  /** Id of the tool call. A call that is repeated under its id returns the stored result. */
  callId: string;
  /** Name of the agent. */
  agent: string;
  /** The outcome; null while it is in progress. */
  status: "succeeded" | "failed" | "cancelled" | "dead" | null;
};

export type RunContext = {
  /** Channel of the conversation, such as `slack` or `slack:eng-general`. */
  channel?: string;
  /** The group conversation in the channel. */
  group?: string;
  /** The chat that gets the answer; left out: none. */
  chat?: RunChat;
  /** True when the sender owns this installation; absent when that is not established. */
  owner?: boolean;
  /** Digest of the conversation that the run belongs to. */
  session?: string;
  /** The model that the run uses. */
  model?: ModelName;
  /** True for a run that plays a recording. */
  replayed?: true;
  /** The author of the model's answers: the sender of a recording or of a plan. */
  dictatedBy?: string;
  /** The number of runs above this one. */
  depth?: number;
  /** The run that started this one. */
  parent?: RunId;
  /** The runs between the parent and the root, the nearest first. */
  between?: RunId[];
  /** The run from which all runs of this family come. */
  root?: RunId;
  /** True when all runs of the agent share one memory, for all requesters. */
  sharesMemory?: true;
};

export type RunDetail = {
  /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
  runId: RunId;
  /** Name of the agent. */
  agent: string;
  /** The NATS user whose command started the run. */
  requester: string;
  /** The model, as `provider/model`. */
  model: ModelName | null;
  /** `waiting`: no runner holds it. `dead`: it killed its runners; a retry continues it. */
  status: RunState;
  /** Model calls so far. */
  steps: number;
  /** Tool calls so far. */
  toolCalls: number;
  /** When it was created. */
  createdAt: Timestamp;
  /** When it changed last. */
  updatedAt: Timestamp;
  /** The number of attempts. */
  attempts: number;
  /** Labels that the command gave the run. */
  labels: { [name: string]: string };
  /** Tokens of the model calls. */
  usage: Usage;
  /** Cost of the model calls in US dollars; null when the price of a model is unknown. */
  costUsd?: number | null;
  /** Reasons for `waiting`, each once. */
  waitsFor?: WaitReason[];
  /** With `running`: what keeps the run from continuing. The runner retries. */
  suspended?: string;
  /** The first 200 characters of the input, in one line. */
  inputStart?: string;
  /** With `failed` and `dead`: the code of the failure. */
  errorCode?: string;
  /** Input of the run: a text, a list of texts and files, or a JSON object. At most 4 MiB as JSON. */
  input: RunInput;
  /** The whole answer; null until the run has ended with one. */
  output: string | null;
  /** The reason of the failure: a code and a message. */
  failure: RunFailure | null;
  /** Set as soon as the run is to be cancelled. */
  cancellation: Cancellation | null;
  /** The reasoning effort of the model; left out or null: the default. */
  thinking?: ThinkingLevel;
  /** NATS users that may read the run besides its owner; they may not control it. */
  readers?: string[];
  /** Digest of the agent's version; null until a runner has begun the run. */
  agentDigest: Digest | null;
  /** Digest of the rules in force when the run began. */
  policyDigest?: Digest;
  /** Skills that the run activated, with their versions. */
  skills: {
    /** Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -. */
    name: string;
    /** SHA-256 digest that names exactly this version. */
    digest: Digest;
  }[];
  /** Skills that lack room in the model's list; missing when there are none. */
  skillsCut?: {
    /** Skills whose descriptions are cut. */
    shortened: string[];
    /** Names of the skills that were left out. */
    dropped: string[];
  };
  /** The number of the agent's memories in the system prompt. */
  memory?: MemoryInPrompt;
  /** MCP servers whose tools the run lacked at its last step. */
  toolsUnavailable?: UnavailableServer[];
  /** The waits of the run. */
  waits?: RunWait[];
  /** The run that this one works for, and its call. */
  parent?: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Id of the tool call. A call that is repeated under its id returns the stored result. */
    callId: string;
  };
  /** Runs that work for this one. */
  children?: RunChild[];
  /** The run and the step that this one was copied from. */
  forkedFrom?: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** The first model call that is made anew, from 1. */
    fromStep: number;
  };
  /** The conversation that the run belongs to. */
  session?: {
    /** Id of the session; a reset gives the session another one. */
    sessionId: SessionId;
    /** Key of the session. */
    key: string;
  };
  /** The claims of the run's token, to explain decisions about its calls. */
  authority?: RunAuthority;
};

export type RunDurations = {
  /** Half of the ended runs took at most so long. */
  p50: number | null;
  /** 90 % of the ended runs took at most so long. */
  p90: number | null;
  /** 95 % of the ended runs took at most so long. */
  p95: number | null;
  /** 99 % of the ended runs took at most so long. */
  p99: number | null;
  /** The longest of the ended runs. */
  max: number | null;
};

export type RunFailure = {
  /** Stable snake_case code, such as `model_error` or `limit_exceeded`. */
  code: string;
  /** A description of the event, for people. */
  message: string;
  /** With `limit_exceeded`: the limit that the run reached. */
  limit?: ReachedLimit;
};

export type RunFollowUp =
  | {
      /** Selects the form of this object; its other fields depend on it. */
      kind: "announce";
      /** The session that gets the result. */
      to: {
        /** The session, by its key or its id. */
        session: string;
        /** The agent that answers there. */
        agent: string;
      };
      /** Name for people. */
      label: string | null;
      /** True: the session of the run ends after it. */
      endsSession: boolean;
      /** The chat that gets the answer; left out: none. */
      chat?: AddressInput;
    }
  | {
      /** Selects the form of this object; its other fields depend on it. */
      kind: "converse";
      /** The session that asked first. */
      requester: {
        /** The session, by its key or its id. */
        session: string;
        /** Name of the agent. */
        agent: string;
      };
      /** The session that answers first. */
      target: {
        /** The session, by its key or its id. */
        session: string;
        /** Name of the agent. */
        agent: string;
      };
      /** The session of the two that the run belongs to. */
      speaker: "requester" | "target";
      /** The number of answers that may still follow. */
      turnsLeft: number;
      /** The first message. */
      question: string;
      /** The first answer; missing before. */
      firstReply?: string;
      /** The last answer; missing before. */
      lastReply?: string;
      /** The chat that gets the answer; left out: none. */
      chat?: AddressInput;
    }
  | {
      /** Selects the form of this object; its other fields depend on it. */
      kind: "tell";
      /** The chat that gets the answer; left out: none. */
      chat: AddressInput;
    };

export type RunId = string;

export type RunInput = string | ContentParts | { [name: string]: unknown };

export type RunLimits = {
  /** The most model calls of a run. */
  maxSteps?: number;
  /** The most tool calls of a run; null: no limit of its own. */
  maxToolCalls?: number;
  /** The most input and output tokens of all model calls together; null: no limit. */
  maxTokens?: number;
  /** The most that all model calls may cost, in US dollars. Calls of unknown price count as 0. */
  maxCostUsd?: number;
  /** The number of times that the same call may have the same result before the run ends. */
  maxRepeatedCalls?: number;
  /** Time limit from the first start, in milliseconds. */
  timeoutMs?: number;
  /** At a limit the run ends (`fail`), or waits for `run.resume` with other limits (`pause`). */
  onLimit?: OnLimit;
};

export type RunOrder = "newest" | "oldest" | "longest" | "dearest";

export type RunOrigin = {
  /** Name of the channel, such as `telegram`. */
  channel?: string;
  /** The group conversation in the channel. */
  group?: string;
  /** The chat that gets the answer; left out: none. */
  chat?: RunChat;
  /** The NATS user to whom it belongs. */
  owner?: boolean;
  /** The session, by its key or its id. */
  session?: string;
  /** The model, as `provider/model`. */
  model?: ModelName;
  /** True when the result is the stored one of an earlier request with the same id. */
  replayed?: true;
  /** The author of the model's answers: the sender of a recording or of a plan. */
  dictatedBy?: string;
  /** The number of runs above this one. */
  depth?: number;
};

export type RunState =
  | "running"
  | "waiting"
  | "succeeded"
  | "failed"
  | "cancelled"
  | "dead"
  | "queued"
  | "rejected";

export type RunStatus = "running" | "waiting" | "succeeded" | "failed" | "cancelled" | "dead";

export type RunSummary = {
  /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
  runId: RunId;
  /** Name of the agent. */
  agent: string;
  /** The NATS user whose command started the run. */
  requester: string;
  /** The model; null until a runner has begun the run. */
  model: ModelName;
  /** `waiting`: no runner holds it. `dead`: it killed its runners; a retry continues it. */
  status: RunStatus;
  /** Model calls so far. */
  steps: number;
  /** Tool calls so far. */
  toolCalls: number;
  /** When it was created. */
  createdAt: Timestamp;
  /** When it changed last. */
  updatedAt: Timestamp;
  /** The number of times a runner picked the run up; 0 until one has. */
  attempts: number;
  /** Labels that the command gave the run. */
  labels: { [name: string]: string };
  /** Tokens of the model calls. */
  usage?: Usage;
  /** Cost of the model calls in US dollars; null when the price of a model is unknown. */
  costUsd?: number | null;
  /** Reasons for `waiting`, each once. */
  waitsFor?: WaitReason[];
  /** With `running`: what keeps the run from continuing. The runner retries. */
  suspended?: string;
  /** The first 200 characters of the input, in one line. */
  inputStart?: string;
  /** With `failed` and `dead`: the code of the failure. */
  errorCode?: string;
};

export type RunSums = {
  /** Number of runs. */
  runs: number;
  /** The failed and dead ones among them. */
  failed: number;
  /** Known cost of their model calls in US dollars. */
  costUsd: number;
  /** Runs with a model call whose price is unknown. */
  unpriced: number;
  /** Input tokens of all their model calls. */
  inputTokens: number;
  /** Output tokens of all their model calls. */
  outputTokens: number;
};

export type RunWait = {
  /** The reason of the wait. */
  reason: WaitReason;
  /** Id of the tool call that waits; for a limit or a stop the run's id. */
  callId: string;
  /** The tool of the call; empty for a limit or a stop. */
  tool: string;
  /** When it continues without an event; null: never. */
  until: SearchedFrom;
  /** Id of the approval. */
  approvalId?: string;
  /** Id of the run that works for this one. */
  childRunId?: RunId;
  /** The question. */
  question?: string;
  /** Answers to choose from; empty when any text will do. */
  options?: string[];
  /** JSON Schema of the answer; missing: a text. */
  schema?: { [name: string]: unknown };
  /** The limit that was reached. */
  limit?: ReachedLimit;
  /** The stop that denies it. */
  stop?: StopInForce;
};

export type SaidOrigin = {
  /** Name of the channel, such as `telegram`. */
  channel?: string;
  /** The group conversation in the channel. */
  group?: string;
  /** The chat that gets the answer; left out: none. */
  chat?: RunChat;
  /** The NATS user to whom it belongs. */
  owner?: boolean;
};

export type Sampling = {
  /** Randomness of the model's words, 0 to 2; null: the provider's default. */
  temperature?: number;
  /** Only the most likely words with this total probability, 0 to 1. */
  topP?: number;
  /** Penalty for words that occurred before, -2 to 2. */
  presencePenalty?: number;
  /** Penalty for words by how often they occurred, -2 to 2. */
  frequencyPenalty?: number;
  /** Seed for repeatable answers, where the model supports it. */
  seed?: number;
  /** An answer ends before the first of these texts. */
  stopSequences?: string[];
  /** The most tokens of one answer, reasoning included. */
  maxOutputTokens?: number;
};

export type ScanConfidence = "low" | "medium" | "high";

export type ScanFinding = {
  /** Stable snake_case code of the problem. */
  code: string;
  /** Entry of the OWASP Agentic Skills Top 10. */
  owasp: OwaspAst;
  /** The severity. */
  severity: ScanSeverity;
  /** The confidence in the finding. */
  confidence: ScanConfidence;
  /** True: this finding alone blocks the skill. */
  blocks: boolean;
  /** Path of the file, with `/`. */
  file: string;
  /** Line in the file, from 1; null when it is about the whole file. */
  line: number | null;
  /** Column in the line, from 1; null when it is about the whole line. */
  column: number | null;
  /** The text that was found: shortened, invisible characters escaped, secrets masked. */
  evidence: string;
  /** A description of the event, for people. */
  message: string;
  /** The advice on the finding. */
  advice: string;
};

export type ScanReport = {
  /** Version of the scanner's rules. */
  scanner: string;
  /** `blocked`: a finding blocks it. `partial`: not everything could be read. */
  verdict: ScanVerdict;
  /** The findings, worst first, at most 100. */
  findings: ScanFinding[];
  /** Findings beyond the listed ones. */
  leftOut: number;
  /** Findings that a suppression accepts. */
  suppressed: {
    /** The finding. */
    finding: ScanFinding;
    /** Why, in words for people. */
    reason: string;
  }[];
  /** Suppressions without effect. */
  idleSuppressions: {
    /** The suppression. */
    suppression: ScanSuppression;
    /** It has expired, or nothing matched. */
    why: "expired" | "unused";
  }[];
  /** The parts that the scanner did not read. */
  unscanned: UnscannedPart[];
  /** The capabilities that the skill uses, and those that it declares. */
  capabilities: SkillCapabilities;
  /** The number of scanned files. */
  files: number;
  /** The number of scanned bytes. */
  bytes: number;
};

export type ScanSeverity = "info" | "low" | "medium" | "high" | "critical";

export type ScanSuppression = {
  /** Stable snake_case code of the problem. */
  code: string;
  /** Why, in words for people. */
  reason: string;
  /** The version that it covers. */
  digest?: Digest;
  /** The file that it covers. */
  path?: PromptName;
  /** When it ends; from then on it has no effect. */
  expiresAt?: Timestamp;
};

export type ScanVerdict = "clean" | "findings" | "partial" | "blocked";

export type ScheduleId = string;

export type ScheduleJob = {
  /** Name of the job for people. */
  name: IfVersion;
  /** Description for people and models. */
  description?: string;
  /** The agent; left out or null: the installation's agent for jobs. */
  agentId?: string | null;
  /** Session of a `main` job; left out or null: `main`. */
  sessionKey?: string | null;
  /** When the job is due. */
  schedule: JobSource;
  /** `main`: a message in a session. `isolated`: a session of its own for each run. */
  sessionTarget: "main" | "isolated";
  /** The work of the job. */
  payload: JobPayload;
  /** The target of the answer; null removes it. */
  delivery?: JobDelivery;
  /** True when it is switched on. */
  enabled: boolean;
  /** True: the job is removed after its run; left out: true for `at`. */
  deleteAfterRun: boolean;
  /** `now`, or with the next heartbeat. */
  wakeMode: "next-heartbeat" | "now";
  /** The treatment of a due time while an earlier run is in progress. */
  overlap: "skip" | "queue" | "parallel";
  /** After an outage: `once` for all missed due times, or `skip` them. */
  catchUp: "once" | "skip";
  /** Id of the job in `triggers.yaml`; missing for a job that was added. */
  declaredAs?: string;
  /** Id of the job: `job-` and 16 hexadecimal digits. */
  id: ScheduleId;
  /** The NATS user to whom it belongs. */
  owner: string;
  /** When it was created, in milliseconds since 1970. */
  createdAtMs: number;
  /** When it changed last, in milliseconds since 1970; the version for `ifVersion`. */
  updatedAtMs: number;
  /** When the job ran and how it went. */
  state: JobState;
};

export type ScheduleJobInputInput = {
  /** Name of the job for people. */
  name: IfVersion;
  /** Description for people and models. */
  description?: string;
  /** The agent; left out or null: the installation's agent for jobs. */
  agentId?: string | null;
  /** Session of a `main` job; left out or null: `main`. */
  sessionKey?: string | null;
  /** When the job is due. */
  schedule: JobSchedule;
  /** `main`: a message in a session. `isolated`: a session of its own for each run. */
  sessionTarget: "main" | "isolated";
  /** The work of the job. */
  payload: JobPayload;
  /** The target of the answer; null removes it. */
  delivery?: JobDelivery;
  /** True when it is switched on. */
  enabled?: boolean;
  /** True: the job is removed after its run; left out: true for `at`. */
  deleteAfterRun?: boolean;
  /** `now`, or with the next heartbeat. */
  wakeMode?: "next-heartbeat" | "now";
  /** The treatment of a due time while an earlier run is in progress. */
  overlap?: "skip" | "queue" | "parallel";
  /** After an outage: `once` for all missed due times, or `skip` them. */
  catchUp?: "once" | "skip";
};

export type ScheduleJobPatch = {
  /** Name of the job for people. */
  name?: IfVersion;
  /** Description for people and models. */
  description?: string;
  /** The agent; left out or null: the installation's agent for jobs. */
  agentId?: string | null;
  /** Session of a `main` job; null: `main`. */
  sessionKey?: string | null;
  /** When the job is due. */
  schedule?: JobSchedule;
  /** `main`: a message in a session. `isolated`: a session of its own for each run. */
  sessionTarget?: "main" | "isolated";
  /** The work of the job. */
  payload?: JobPayload;
  /** The target of the answer; null removes it. */
  delivery?: JobDelivery | null;
  /** True when it is switched on. */
  enabled?: boolean;
  /** True: the job is removed after its run; left out: true for `at`. */
  deleteAfterRun?: boolean;
  /** `now`, or with the next heartbeat. */
  wakeMode?: WakeMode;
  /** The treatment of a due time while an earlier run is in progress. */
  overlap?: JobOverlap;
  /** After an outage: `once` for all missed due times, or `skip` them. */
  catchUp?: JobCatchUp;
};

export type ScheduleRun = {
  /** When it ended, in milliseconds since 1970. */
  ts: number;
  /** Id of the job. */
  jobId: ScheduleId;
  /** Name of the job for people. */
  jobName: string;
  /** Always `finished`. */
  action: "finished";
  /** The outcome of the run. */
  status: JobRunStatus;
  /** The due time, in milliseconds since 1970. */
  dueAtMs: number;
  /** The number of further due times that the entry stands for. */
  missed?: number;
  /** A description of the failure, for people. */
  error?: string;
  /** The beginning of the answer. */
  summary?: string;
  /** True when the answer was delivered. */
  delivered?: boolean;
  /** The delivery status of the answer. */
  deliveryStatus?: DeliveryStatus;
  /** The reason why the answer was not delivered. */
  deliveryError?: string;
  /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
  runId?: RunId;
  /** Key of the session, unique among those of its owner. */
  sessionKey?: string;
  /** Id of the session; a reset gives the session another one. */
  sessionId?: SessionId;
  /** The due time, in milliseconds since 1970. */
  runAtMs?: number;
  /** The duration, in milliseconds. */
  durationMs?: number;
  /** When it is due next, in milliseconds since 1970; missing: never. */
  nextRunAtMs?: number;
  /** The model, as `provider/model`. */
  model?: string;
  /** The tool provider. */
  provider?: string;
  /** Tokens of the model calls. */
  usage?: {
    /** Tokens of the prompts. */
    input: number;
    /** Tokens of the answers. */
    output: number;
    /** Tokens of prompts and answers. */
    total: number;
    /** Input tokens that the provider had in its cache. */
    cacheRead?: number;
    /** Input tokens that the provider put into its cache. */
    cacheWrite?: number;
  };
};

export type SearchedFrom = Timestamp | null;

export type SecretName = string;

export type SendId = string;

export type SentFile = {
  /** Path relative to the directory, with `/`. */
  path: string;
  /** The text; in place of `base64`. */
  text?: string;
  /** The bytes in base64; in place of `text`. */
  base64?: string;
};

export type SentSkill = {
  /** Name of the skill's directory at the sender. */
  directory: string;
  /** The files. */
  files: SentFile[];
};

export type ServerFacts = {
  /** The `tags` of the server's declaration. */
  labels?: string[];
  /** Roles of agents that may use the server; absent means every agent. */
  roles?: string[];
  /** Patterns over the server's own tool names; absent means every tool. */
  enabledTools?: string[];
};

export type ServerId = string;

export type ServerInfo = {
  /** Id of an MCP server: 1-24 characters of a-z 0-9 -. */
  id: ServerId;
  /** Name of the server for people. */
  name: string;
  /** The source of its declaration. */
  origin: "file" | "api";
  /** The transport to the server. */
  transport: TransportKind;
  /** State of the connection. */
  status: ServerStatus;
  /** The number of tools that the server lists. */
  toolCount: number;
  /** Name and version that the server reports; null while it is not connected. */
  serverVersion: string | null;
  /** MCP version of the connection; null while it is not connected. */
  protocolVersion: string | null;
  /** The last failure; null when the last attempt succeeded. */
  lastError: string | null;
  /** Since when it is connected; null while it is not. */
  connectedAt: SearchedFrom;
  /** Features of the server; null while it is not connected. */
  capabilities?: {
    /** True when it has tools. */
    tools: boolean;
    /** True when it has resources. */
    resources: boolean;
    /** True when it has prompts. */
    prompts: boolean;
  } | null;
  /** The text of the instructions. */
  instructions?: string;
  /** The broker that has its lease; null while none has. */
  owner?: string | null;
  /** State of its circuit breaker: `open` lets no call through. */
  circuit?: CircuitState;
  /** True: it is connected from the start; false: with its first call. */
  autoConnect?: boolean;
  /** True when it was changed and the broker's file has an entry for it, too. */
  overridesFile?: boolean;
  /** Parts of its declaration that have no effect. */
  warnings?: string[];
};

export type ServerMessage = {
  /** When it happened. */
  at: Timestamp;
  /** Severity, from the least to the worst. */
  level: LogLevel;
  /** Name of the logger; null without one. */
  logger: string | null;
  /** The message; secrets of the configuration are removed, and it is cut. */
  text: string;
};

export type ServerSecret = {
  /** Name of the secret, as in `${secret:NAME}`. */
  name: SecretName;
  /** The user that stored the value. */
  owner: string;
  /** When the value was stored. */
  updatedAt: Timestamp;
  /** The only servers that may use it; null for all. */
  servers: ServerId[] | null;
  /** Servers whose declaration refers to it. */
  usedBy: ServerId[];
};

export type ServerStatus = "connecting" | "connected" | "disconnected" | "error" | "disabled";

export type Session = {
  /** Id of the session; a reset gives the session another one. */
  sessionId: SessionId;
  /** Key of the session. */
  key: string;
  /** The NATS user to whom it belongs. */
  owner: string;
  /** The purpose of the session. */
  kind: SessionKind;
  /** Name for people; null without one. */
  label: string | null;
  /** First words of the first message, a name for people; missing before the first message. */
  title?: string;
  /** The agent that answers messages without an agent. */
  agent: string;
  /** The model that replaces the agent's; null: none. */
  model: ModelName | null;
  /** Skills that are switched off for runs of the session. */
  skillsOff: string[];
  /** The treatment of a message while another run of the session is in progress. */
  onBusy: BusyPolicy;
  /** Version, for `ifVersion` or If-Match of a change. */
  version?: string;
  /** When it was created. */
  createdAt: Timestamp;
  /** When it changed last. */
  updatedAt: Timestamp;
  /** When the session ends unless it is used before. */
  endsAt: Timestamp;
  /** Messages in the history. */
  messages: number;
  /** Messages that the history has no room for any more. */
  droppedMessages: number;
  /** Size of the history in bytes. */
  bytes: number;
  /** The run in progress; null when there is none. */
  activeRun: RunId | null;
  /** Messages that wait for it to end. */
  queued: number;
  /** The run that ended last; null before the first one ended. */
  lastRun: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** The outcome. */
    status: "succeeded" | "failed" | "cancelled" | "dead";
    /** The model, as `provider/model`. */
    model?: ModelName;
    /** Tokens of the model's context window; null when it is not known. */
    contextWindow?: number;
    /** The reasoning effort of the model; left out or null: the default. */
    thinking?: ThinkingLevel;
  } | null;
  /** Input and output tokens of all runs of the session. */
  totalTokens: number;
};

export type SessionGrant = {
  /** Id of a standing approval: `grt-` and 32 hexadecimal digits. */
  id: GrantId;
  /** For whom the policy decides: a user, or a run of a user. */
  principal: Principal;
  /** The tool: its canonical name, its server and its name there. */
  tool: ToolRef;
  /** Digest of the tool's definition; null when it has none. */
  pin: Digest | null;
  /** Id of the rule that decided; null when no rule matched. */
  rule: string | null;
  /** Digest of the rules in force. */
  policyDigest: Digest;
  /** JSON pointers of arguments that must have the approved call's values. */
  sameArguments: string[];
  /** Id of the approval. */
  approvalId: ApprovalId;
  /** The user that approved it. */
  grantedBy: string;
  /** When it was approved. */
  grantedAt: Timestamp;
  /** When it ends; from then on it has no effect. */
  expiresAt: Timestamp;
  /** The number of calls that it may still let pass. */
  usesLeft: number;
  /** Those of its approval: these people may see and revoke it. */
  requirements: ApprovalRequirement[];
};

export type SessionId = string;

export type SessionKind = "main" | "group" | "cron" | "hook" | "node" | "other";

export type SessionMessage = {
  /** When it happened. */
  at: Timestamp;
  /** The speaker's role; `notice`: a run ended without an answer, or a message came from elsewhere. */
  role: "user" | "assistant" | "tool" | "notice";
  /** The text; credentials are masked. */
  text: string;
  /** The run of the message. */
  runId: RunId;
  /** Id of a message that was sent to the chat from elsewhere. */
  sendId?: SendId;
  /** The author of a user's message. */
  by?: string;
  /** The agent whose run wrote an answer or ended without one. */
  agent?: string;
  /** Name of the tool. */
  tool?: string;
  /** True when the tool failed; the text has the reason. */
  isError?: boolean;
  /** True when a part was left out because it was too long. */
  truncated?: boolean;
  /** True when credentials in the text were masked. */
  redacted?: boolean;
  /** Files of the message. */
  files?: MessageFiles;
};

export type Skill = {
  /** Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -. */
  name: string;
  /** Description for people and models. */
  description: string;
  /** SHA-256 digest that names exactly this version. */
  digest: Digest;
  /** Path of the file, relative to the importer's root. */
  path: string;
  /** True when people may use it as a command. */
  userInvocable: boolean;
  /** True when models may activate it. */
  modelInvocable: boolean;
  /** Tool patterns that the skill restricts itself to; null: no restriction. */
  allowedTools: string[] | null;
  /** A hint at the command's arguments; null without one. */
  argumentHint: string | null;
  /** Other words of the file about when to use the skill. */
  triggers?: string[];
  /** True when the file's YAML is broken and was read after a repair. */
  repaired?: boolean;
  /** True when so little could be read that a person should review it. */
  needsReview?: boolean;
  /** SHA-256 over paths and digests of all files. */
  version?: Digest;
  /** The scope that the skill is from; with several of one name the earlier scope counts. */
  scope?: SkillScope;
  /** `legacy`: a `skill.json` with its `prompt.md`; missing for a SKILL.md. */
  format?: "legacy";
  /** The source. */
  source?: "openclaw";
  /** Remarks about the file, with their lines. */
  diagnostics: Diagnostic[];
  /** The Markdown body. */
  body: string;
  /** Names of the arguments that the file declares. */
  arguments: string[];
  /** True when placeholders need braces, such as `${N}`. */
  needsBraces?: boolean;
  /** Plan for the scripted provider, which is not AI; null without one. */
  plan: Plan | null;
  /** Fields of the file that other programs define. */
  record?: SkillRecord;
  /** Tool that the skill's command calls directly. */
  dispatch?: {
    /** Name of the tool. */
    tool: string;
  };
};

export type SkillCapabilities = {
  /** Environment variables. */
  env: CapabilityUse;
  /** Programs, all of which are needed. */
  bins: CapabilityUse;
  /** Hosts that are contacted. */
  hosts: CapabilityUse;
  /** Tools that are used. */
  tools: CapabilityUse;
};

export type SkillCatalogue = {
  /** The list as escaped XML; empty when there is nothing to list. */
  text: string;
  /** The most tokens of the list. */
  budgetTokens: number;
  /** Estimated tokens. */
  tokens: number;
  /** Estimated tokens of the list with every description whole. */
  wholeTokens: number;
  /** The listed skills, by name; only these may be activated. */
  listed: ListedSkill[];
  /** Names of the skills that were left out. */
  dropped: string[];
  /** The time for which the reply may be reused, in milliseconds from before the request. */
  keepForMs?: KeepForMs;
};

export type SkillDependencies = {
  /** True when all requirements are met on the importer's machine. */
  met: boolean;
  /** The requirements of the skill. */
  requirements: SkillRequirements;
  /** The single requirements. */
  checks: {
    /** Kind of the requirement. */
    kind: "bin" | "anyBin" | "env" | "config" | "os";
    /** Name of the program, variable or system. */
    name: string;
    /** The state of the requirement: met or not. */
    status: "found" | "missing" | "not_applicable";
  }[];
  /** Remarks that change nothing. */
  warnings: string[];
};

export type SkillFileFacts = {
  /** Path relative to the directory, with `/`. */
  path: string;
  /** Size in bytes. */
  sizeBytes: number;
  /** SHA-256 digest that names exactly this version. */
  digest: Digest;
};

export type SkillManifest = {
  /** `openclaw-skill-` and the name. */
  id: string;
  /** Name of the skill. */
  name: string;
  /** Version that the file names. */
  version: string;
  /** Author of the skill; null when it names none. */
  author: string | null;
  /** Description for people and models. */
  description: string;
  /** Category in the registry. */
  category: "tools";
  /** Icon in the registry. */
  icon: "Plug";
  /** Format of the file. */
  source: "openclaw" | "agent-skills";
  /** The tool that stands for the skill. */
  tools: {
    /** Name of the tool. */
    name: string;
    /** Description for people and models. */
    description: string;
    /** JSON Schema of the arguments. */
    parameters: {};
    /** The way a command is executed; `tool`: the call goes straight to the tool. */
    dispatch: "skill" | "tool";
  }[];
  /** Words to find it by. */
  keywords: string[];
};

export type SkillRecord = {
  /** Name for people; null when it is not known. */
  displayName: string | null;
  /** Licence that the file names; null without one. */
  license: string | null;
  /** Programs that the skill is made for, as the file says; null without a value. */
  compatibility: string | null;
  /** Version that the file names; null without one. */
  version: string | null;
  /** The author. */
  author: string | null;
  /** Address of the page about it; null without one. */
  homepage: string | null;
  /** The model, as `provider/model`. */
  model: string | null;
  /** The reasoning effort for models; null without a value. */
  effort: "low" | "medium" | "high" | "xhigh" | "max" | null;
  /** `fork`: the author wants a run of its own. */
  context: "fork" | null;
  /** Name of the agent. */
  agent: string | null;
  /** True: the author wants it to run in the background; null without a value. */
  background: boolean | null;
  /** Shell of the skill's commands; null without a value. */
  shell: "bash" | "powershell" | null;
  /** Patterns of the files that the skill is about. */
  paths: string[];
  /** Patterns of tools that a run with the skill never calls. */
  disallowedTools: string[];
  /** The value as written; it is never run. */
  hooks: unknown;
  /** Metadata of OpenClaw; null without any. */
  openclaw: {
    /** Keys under which the metadata was found. */
    aliases: string[];
    /** The reaction: a character, or the provider's name for it. */
    emoji: string | null;
    /** Key of the skill in OpenClaw's configuration; null without one. */
    skillKey: string | null;
    /** Address of the page about it; null without one. */
    homepage: string | null;
    /** Environment variables that the skill names. */
    envVars: {
      /** Name of the variable. */
      name: string;
      /** True when the skill needs it. */
      required: boolean;
      /** Description for people and models. */
      description: string;
    }[];
  } | null;
  /** Fields that no format defines. */
  unknown: { [name: string]: unknown };
};

export type SkillRequirements = {
  /** Programs, all of which are needed. */
  bins: string[];
  /** Programs, one of which is needed. */
  anyBins: string[];
  /** Environment variables. */
  env: string[];
  /** Settings of OpenClaw. */
  config: string[];
  /** Operating systems; empty: every one. */
  os: string[];
  /** True: the author wants the other requirements ignored. */
  always: boolean;
  /** The most important variable; null without one. */
  primaryEnv: string | null;
  /** The installation instructions, as written; never run. */
  install: unknown[];
};

export type SkillScope = "project" | "user" | "workspace" | "imported";

export type SkillSummary = {
  /** Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -. */
  name: string;
  /** Description for people and models. */
  description: string;
  /** SHA-256 digest that names exactly this version. */
  digest: Digest;
  /** Path relative to the directory, with `/`. */
  path: string;
  /** True when people may use it as a command. */
  userInvocable: boolean;
  /** True when models may activate it. */
  modelInvocable: boolean;
  /** Tool patterns that the skill restricts itself to; null: no restriction. */
  allowedTools: string[] | null;
  /** A hint at the command's arguments; null without one. */
  argumentHint: string | null;
  /** Other words of the file about when to use the skill. */
  triggers?: string[];
  /** True when the file's YAML is broken and was read after a repair. */
  repaired?: boolean;
  /** True when so little could be read that a person should review it. */
  needsReview?: boolean;
  /** Version, for `ifVersion` or If-Match of a change. */
  version?: Digest;
  /** The scope. */
  scope?: SkillScope;
  /** Format of the text. */
  format?: "legacy";
  /** The source. */
  source?: "openclaw";
  /** Remarks about the file, with their lines. */
  diagnostics: Diagnostic[];
};

export type SkillTarget = "agent-skills" | "claude-code" | "claude-ai" | "openclaw" | "clawhub";

export type SkillVersion = {
  /** SHA-256 over paths and digests of all files, to which runs are pinned. */
  version: Digest;
  /** SHA-256 of the SKILL.md. */
  digest: Digest;
  /** The origin of the version. */
  provenance: Provenance;
  /** The scanner's verdict; null when the version was never scanned. */
  verdict: {
    /** Version of the scanner's rules. */
    scanner: string;
    /** The scanner's verdict; null when the version was never scanned. */
    verdict: ScanVerdict;
  } | null;
  /** The files. */
  files: SkillFileFacts[];
  /** When another version replaced it; it is deleted 45 days later. Null: it is current. */
  supersededAt: SearchedFrom;
};

export type SlashCommand = {
  /** The command with its slash. */
  name: string;
  /** A hint at the command's arguments; null without one. */
  argumentHint: string | null;
  /** False when the skill is not for people or its name is taken. */
  available: boolean;
  /** The command that already has the name; null when it is free. */
  shadowedBy: string | null;
};

export type StatusCounts = {
  /** Runs that a runner has, or will take soon. */
  running: number;
  /** Runs that wait, and that no runner has. */
  waiting: number;
  /** Runs that ended with an answer. */
  succeeded: number;
  /** Runs that failed. */
  failed: number;
  /** Runs that were cancelled. */
  cancelled: number;
  /** Runs that killed their runners. */
  dead: number;
};

export type SteerMessage = string;

export type Stop = {
  /** The scope. */
  scope: StopScope;
  /** Why, in words for people. */
  reason: string;
  /** The NATS user that did it. */
  by: string;
  /** When it happened. */
  at: Timestamp;
};

export type StopInForce = {
  /** The scope. */
  scope: StopScope;
  /** Why, in words for people. */
  reason: string;
};

export type StopScope =
  | {
      /** Selects the form of this object; its other fields depend on it. */
      kind: "all";
    }
  | {
      /** Selects the form of this object; its other fields depend on it. */
      kind: "agent";
      /** Name or id of what is stopped. */
      name: string;
    }
  | {
      /** Selects the form of this object; its other fields depend on it. */
      kind: "run";
      /** Name or id of what is stopped. */
      name: RunId;
    }
  | {
      /** Selects the form of this object; its other fields depend on it. */
      kind: "server";
      /** Name or id of what is stopped. */
      name: ServerId;
    }
  | {
      /** Selects the form of this object; its other fields depend on it. */
      kind: "user";
      /** Name or id of what is stopped. */
      name: string;
    }
  | {
      /** Selects the form of this object; its other fields depend on it. */
      kind: "key";
      /** Name or id of what is stopped. */
      name: string;
    };

export type Target = {
  /** The kind of target: a person, a group or a channel. */
  kind: TargetKind;
  /** Id at the provider. */
  id: ProviderId;
};

export type TargetKind = "user" | "group" | "channel";

export type ThinkingLevel =
  | "off"
  | "none"
  | "minimal"
  | "low"
  | "medium"
  | "high"
  | "xhigh"
  | "max";

export type Timestamp = string;

export type TokenKeyUse = "signs" | "next" | "accepted";

export type ToolFinding = {
  /** Stable snake_case code of the problem. */
  code:
    | "hidden_characters"
    | "bidi_control"
    | "bidi_mark"
    | "tag_characters"
    | "control_characters"
    | "name_imitates"
    | "name_resembles"
    | "cross_server_reference"
    | "instruction_like"
    | "encoded_payload"
    | "schema_too_complex"
    | "schema_not_checked"
    | "schema_not_portable";
  /** `hard` blocks the tool until an admin accepts the finding; `soft` is shown. */
  severity: "hard" | "soft";
  /** JSON pointer to the position; the empty one is the whole. */
  where: string;
  /** The text that was found: shortened, invisible characters escaped, secrets masked. */
  evidence: string;
};

export type ToolInfo = {
  /** Canonical name, unique in the catalogue. */
  name: ToolName;
  /** Id of the MCP server. */
  server: ServerId;
  /** Name of the tool at its server. */
  tool: string;
  /** Description for people and models. */
  description: string;
  /** JSON Schema of the arguments. */
  inputSchema: {
    /** Selects the form of this object; its other fields depend on it. */
    type: "object";
    [name: string]: unknown;
  };
  /** Other members of the definition, such as `annotations` and `outputSchema`. */
  definition?: { [name: string]: unknown };
  /** Digest of the definition, to which approvals are bound. */
  pin?: Digest;
  /** Findings about it; present only when they were requested. */
  findings?: ToolFinding[];
};

export type ToolName = string;

export type ToolPin = {
  /** Id of the MCP server. */
  server: ServerId;
  /** Name of the tool at its server. */
  tool: PromptName;
  /** Canonical name of the tool. */
  name: ToolName;
  /** Only an approved tool is listed and can be called; `changed`: its definition is another one. */
  state: PinState;
  /** Digest of the definition that the server listed last. */
  digest: Digest;
  /** Digest of the approved definition; null: never approved. */
  approvedDigest: Digest | null;
  /** Findings about the definition. */
  findings: ToolFinding[];
  /** When the tool was seen first. */
  firstSeenAt: Timestamp;
  /** When this definition was seen first. */
  seenAt: Timestamp;
  /** The user that approved it, or `first-use`; null: never approved. */
  approvedBy: string | null;
  /** When it was approved; null: never. */
  approvedAt: SearchedFrom;
  /** The user that blocked it, or `finding`; null unless it is blocked. */
  blockedBy: string | null;
};

export type ToolReach = {
  /** Id of the rule that allows it, or `(no rule)` for a file access that no rule names. */
  rule: string;
  /** The approval tier of the call: `auto` needs no person, `session` one approval for a while, `always` one each time. */
  tier: ApprovalTier;
  /** Patterns of users; null is anyone. */
  users: string[] | null;
  /** Patterns of agents; null is anyone. */
  agents: string[] | null;
  /** Patterns of roles; null is anyone. */
  roles: string[] | null;
  /** Patterns of channels; null is anyone. */
  channels: string[] | null;
  /** Patterns of group conversations; null is anyone. */
  groups: string[] | null;
  /** True when only some arguments are allowed. */
  conditional: boolean;
  /** Deny rules and layers that exclude some of them. */
  except: string[];
};

export type ToolRef = {
  /** Canonical name of the tool, unique in the catalogue; rules and models use it. */
  name: ToolName;
  /** Id of the MCP server; null for a tool that is not one of MCP. */
  server: ServerId | null;
  /** Name of the tool at its server. */
  tool: ResourceUri;
};

export type TotalsBucket = {
  /** Begin of the bucket. */
  at: Timestamp;
  /** Runs that began in it. */
  runs: number;
  /** The failed and dead ones among them. */
  failed: number;
  /** Their known cost in US dollars. */
  costUsd: number;
};

export type TotalsRange = "1h" | "24h" | "7d";

export type TransportKind = "stdio" | "http" | "sse";

export type UnavailableServer = {
  /** Id of the MCP server. */
  server: ServerId;
  /** The reason why its tools are missing. */
  reason: string;
};

export type UnscannedPart = {
  /** Path of the file, with `/`. */
  file: string;
  /** Stable snake_case code of the problem. */
  code:
    | "binary_file"
    | "undecodable_text"
    | "file_cut"
    | "too_many_files"
    | "too_many_bytes"
    | "deadline";
  /** A description of the event, for people. */
  message: string;
};

export type Usage = {
  /** Tokens of the prompts. */
  inputTokens: number;
  /** Tokens of the answers. */
  outputTokens: number;
  /** Input tokens that the provider had in its cache; missing: none. */
  cacheReadTokens?: number;
  /** Input tokens that the provider put into its cache; missing: none. */
  cacheWriteTokens?: number;
  /** Output tokens in which the model reasoned; part of `outputTokens`. */
  reasoningTokens?: number;
  /** Tokens of answers that broke off, which no provider counted; missing: none. */
  estimatedTokens?: number;
};

export type UserKey = {
  /** Id of the API key. */
  id: UserKeyId;
  /** The NATS user that a credential or a subject stands for. */
  caller: string;
  /** The roles, each once. */
  roles: UserRoles;
  /** Names or patterns of the permitted operations; missing means all that the roles allow. */
  scopes?: UserScopes;
  /** A remark for people, one line. */
  note: string | null;
  /** The user that created it. */
  createdBy: string;
  /** When it was created. */
  createdAt: Timestamp;
  /** When it ends; null: never. */
  expiresAt: SearchedFrom;
  /** When it was revoked; null while it is valid. */
  revokedAt: SearchedFrom;
};

export type UserKeyId = string;

export type UserRole = "viewer" | "operator" | "approver" | "admin";

export type UserRoles = UserRole[];

export type UserScope = string;

export type UserScopes = UserScope[];

export type UserSession = {
  /** The NATS user that a credential or a subject stands for. */
  caller: string;
  /** The roles, each once. */
  roles: UserRoles;
  /** Names or patterns of the permitted operations; missing means all that the roles allow. */
  scopes?: UserScopes;
  /** Name of the credential, never the credential itself. */
  credential: string;
  /** Id of the browser's session. */
  id: UserSessionId;
  /** When the browser signed in. */
  openedAt: Timestamp;
  /** When it ends; from then on it has no effect. */
  expiresAt: Timestamp;
};

export type UserSessionId = string;

export type VersionReview = {
  /** The files, the skill's own first. */
  files: {
    /** Path relative to the directory, with `/`. */
    path: string;
    /** Size in bytes. */
    sizeBytes: number;
    /** The text; null for bytes, and beyond 256 KiB of all files. */
    text: string | null;
  }[];
  /** Report of the scanner; null when the version was never scanned. */
  scan: ScanReport | null;
  /** The reason why it is stored and not listed; null when it is listed. */
  withheld: WithheldReason | null;
};

export type WaitReason = "approval" | "child" | "question" | "timer" | "limit" | "stopped";

export type WakeMode = "next-heartbeat" | "now";

export type WithheldReason = "untrusted" | "changed" | "blocked";

/** The operations by method and path below `/api/v1`. */

export interface Operations {
  /** Returns the user of the credential, and what it may do. Role: viewer. */
  "GET /me": {
    request: {};
    reply: {
      /** The NATS user that the credential stands for. */
      caller: string;
      /** The roles, each once. */
      roles: UserRole[];
      /** Name of the credential, never the credential itself. */
      credential: string;
      /** Names or patterns of the permitted operations; missing means all that the roles allow. */
      scopes?: string[];
      /** Operations that the credential may use, as method and path below `/api/v1`. */
      may: string[];
    };
  };

  /** Lists the services that answer, and the lengths of streams and queues. Role: viewer. */
  "GET /system": {
    request: {};
    reply: {
      /** The services that answer. */
      services: {
        /** Name of the service. */
        name: string;
        /** Id of the process. */
        id: string;
        /** Version of the service. */
        version: string;
        /** Description for people and models. */
        description: string;
        /** The operations of the service. */
        endpoints: {
          /** Name of the operation. */
          name: string;
          /** Subject that the message was published on. */
          subject: string;
          /** Requests since the start. */
          requests: number;
          /** Failed requests since the start. */
          errors: number;
          /** Mean time up to the reply, in milliseconds. */
          averageMs: number;
        }[];
      }[];
      /** The JetStream streams. */
      streams: {
        /** Name of the stream. */
        name: string;
        /** Stored messages. */
        messages: number;
        /** Size in bytes. */
        bytes: number;
        /** Size limit in bytes; -1: none. */
        maxBytes: number;
        /** The queues of the stream. */
        queues: {
          /** Name of the queue. */
          name: string;
          /** Messages that no consumer has received yet. */
          waiting: number;
          /** Messages that are delivered and not acknowledged. */
          inWork: number;
          /** Messages that were delivered more than once. */
          redelivered: number;
        }[];
      }[];
      /** Streams of events that this replica of the gateway has open. */
      readers: number;
    };
  };

  /** Lists the caller's runs, newest first; for cli and admin the runs of all users. Role: viewer. */
  "GET /runs": {
    request: {
      query?: {
        /** The most entries to return. */
        limit?: number;
        /** Only runs of this user. */
        owner?: string;
        /** Only runs of this agent. */
        agent?: string;
        /** Only runs of this model. */
        model?: ModelName;
        /** Only runs in this state. */
        status?: RunStatus;
        /** Only runs in one of these states. */
        statuses?: RunStatus[];
        /** Only failed and dead runs whose failure has this code, such as `limit_exceeded`. */
        errorCode?: IfVersion;
        /** Only runs that have all of these labels, as `key=value`; `key` alone is a label of any value. */
        labels?: string[];
        /** Only runs with this text in their id, agent, model, requester, labels or the start of their input; letters of both cases are the same. */
        text?: string;
        /** Only runs that began at this time or later. */
        from?: Timestamp;
        /** Only runs that began before this time. */
        to?: Timestamp;
        /** Only runs among these, such as the changed ones of a list that is shown; newest first. */
        ids?: RunId[];
        /** The order. `longest`: by the time from begin to end, or until now. `dearest`: by known cost. */
        sort?: RunOrder;
        /** `next` of the page before; left out: the first page. */
        cursor?: ListCursor;
      };
    };
    reply: {
      /** The runs, newest first. */
      runs: RunSummary[];
      /** `cursor` of the next page; null when this is the last one. */
      next: NextCursor;
      /** Begin of the oldest run that was looked at, where older ones were not: the orders `longest` and `dearest` look at the newest 100,000 runs. Null when all were. */
      searchedFrom?: SearchedFrom;
    };
  };

  /** Starts a run of an agent. Role: operator. */
  "POST /runs": {
    request: {
      body: {
        /** Name of the agent. */
        agent: string;
        /** Input of the run: a text, a list of texts and files, or a JSON object. At most 4 MiB as JSON. */
        input: RunInput;
        /** Id of the new run. The same id again is the same run. Left out: a new id. */
        runId?: RunId;
        /** A skill to activate before the first step. */
        skill?: string;
        /** Replaces the agent's model, as `provider/model`. */
        model?: ModelName;
        /** The reasoning effort of the model; left out or null: the default. */
        thinking?: ThinkingLevel;
        /** Settings of the model, in place of the agent's own. */
        sampling?: Sampling;
        /** Answers of the models in an earlier run; they are played, and no model is called. */
        replay?: RecordingInput;
        /** Limits of the run. Fields that are left out keep their value. */
        limits?: RunLimits;
        /** Labels, by name. */
        labels?: { [name: string]: string };
        /** NATS users that may read the run besides its owner; they may not control it. */
        readers?: string[];
        /** The origin of the run, as a trusted service reports it. */
        origin?: SaidOrigin;
        /** JSON Schema (2020-12) of the answer; the run's output is then JSON text that fits it. */
        output?: { [name: string]: unknown };
        /** The conversation, by key or id. A new key begins a session. */
        session?: string;
        /** The treatment of a message while another run of the session is in progress. */
        onBusy?: BusyPolicy;
      };
      idempotencyKey?: string;
    };
    reply: { runId: string; sequence: number };
  };

  /** Counts the caller's runs of a time by status, agent, model, error and requester, with cost and durations; for cli and admin those of all users. Role: viewer. */
  "GET /runs/totals": {
    request: {
      query?: {
        /** Only runs of this user. */
        owner?: string;
        /** Only runs of this agent. */
        agent?: string;
        /** Only runs of this model. */
        model?: ModelName;
        /** Only runs in this state. */
        status?: RunStatus;
        /** Only runs in one of these states. */
        statuses?: RunStatus[];
        /** Only failed and dead runs whose failure has this code, such as `limit_exceeded`. */
        errorCode?: IfVersion;
        /** Only runs that have all of these labels, as `key=value`; `key` alone is a label of any value. */
        labels?: string[];
        /** Only runs with this text in their id, agent, model, requester, labels or the start of their input; letters of both cases are the same. */
        text?: string;
        /** Only runs that began at this time or later. */
        from?: Timestamp;
        /** Only runs that began before this time. */
        to?: Timestamp;
        /** The time until now, in place of `from` and `to`: `24h` when none of them is set. */
        range?: TotalsRange;
      };
    };
    reply: {
      /** All runs that are under way now, whenever they began; the filters do not count. */
      now: {
        /** Runs that a runner has, or will take soon. */
        running: number;
        /** Runs that wait, and that no runner has. */
        waiting: number;
        /** The running ones that cannot continue, because a service is away. */
        suspended: number;
      };
      /** Begin of the range. */
      from: Timestamp;
      /** End of the range, which is not part of it. */
      to: Timestamp;
      /** Begin of the oldest run that was looked at, where older ones were not: totals look at the newest 100,000 runs. Null when all were. */
      searchedFrom: SearchedFrom;
      /** Sums over all runs of the range. */
      total: RunSums;
      /** Number of runs in each state. */
      statuses: StatusCounts;
      /** Sums by agent, for the 20 with the most runs; the row without a name has all others. */
      agents: NamedRunSums[];
      /** Sums by model, for the 20 with the most runs; the row without a name has all others. */
      models: NamedRunSums[];
      /** Sums by requester, for the 20 with the most runs; the row without a name has all others. */
      requesters: NamedRunSums[];
      /** Sums over failed and dead runs by the code of their failure, for the 20 most frequent; the row without a name has all others. */
      errors: NamedRunSums[];
      /** Percentiles of the milliseconds from begin to end, over the ended runs; null when none has ended. */
      durationMs: RunDurations;
      /** Milliseconds of each bucket. */
      bucketMs: number;
      /** The range in equal parts, for charts: at most about 60. */
      buckets: TotalsBucket[];
    };
  };

  /** Lists the runs and commands that killed their runners and were stopped, latest first. Role: viewer. */
  "GET /runs/dead": {
    request: {
      query?: {
        /** The most entries to return. */
        limit?: number;
        /** `next` of the page before; left out: the first page. */
        cursor?: ListCursor;
      };
    };
    reply: {
      /** The runs, newest first. */
      runs: DeadRun[];
      /** Commands that were given up before they became a run. */
      letters?: DeadLetter[];
      /** `cursor` of the next page; null when this is the last one. */
      next: NextCursor;
    };
  };

  /** Sends a command again that was stopped because it killed its runners. Role: operator. */
  "POST /runs/dead/{letterId}/redrive": {
    request: { path: { letterId: string } };
    reply: {
      /** The run that the command becomes. */
      runId: RunId;
      /** `repeated`: it had been sent again before, and nothing happens. */
      outcome: "sent" | "repeated";
    };
  };

  /** Lists the questions of runs that wait for an answer. Role: viewer. */
  "GET /runs/questions": {
    request: {
      query?: {
        /** The most entries to return. */
        limit?: number;
        /** `next` of the page before; left out: the first page. */
        cursor?: ListCursor;
      };
    };
    reply: {
      /** The questions, newest first. */
      questions: {
        /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
        runId: RunId;
        /** Id of the tool call. A call that is repeated under its id returns the stored result. */
        callId: string;
        /** The question. */
        question: string;
        /** Answers to choose from; empty when any text will do. */
        options: string[];
        /** JSON Schema of the answer; missing: a text. */
        schema?: { [name: string]: unknown };
        /** When the run continues without an answer. */
        until: Timestamp;
        /** The NATS user whose command started the run. */
        requester: string;
        /** Name of the agent. */
        agent: string;
      }[];
      /** `cursor` of the next page; null when this is the last one. */
      next: NextCursor;
    };
  };

  /** Deletes ended runs of an owner, a part at a time. Role: operator. */
  "POST /runs/delete-ended": {
    request: {
      body?: {
        /** Owner of the runs; left out: the caller. */
        owner?: string;
        /** Only runs that began before this time. */
        before?: Timestamp;
        /** The most runs to look at. */
        limit?: number;
        /** `next` of the page before; left out: the first page. */
        cursor?: ListCursor;
      };
    };
    reply: {
      /** Number of deleted runs. */
      deleted: number;
      /** Number of runs that were looked at and have not ended. */
      notEnded: number;
      /** `cursor` of the next page; null when this is the last one. */
      next: NextCursor;
    };
  };

  /** Returns one run with its input, output and cost. Role: viewer. */
  "GET /runs/{runId}": {
    request: { path: { runId: string } };
    reply: {
      /** The run. */
      run: RunDetail;
    };
  };

  /** Deletes an ended run with its texts and events. Role: operator. */
  "DELETE /runs/{runId}": {
    request: { path: { runId: string } };
    reply: {
      /** Whole id of the run. */
      runId: RunId;
      /** `absent`: the caller has no such run, or deleted it before. */
      outcome: "deleted" | "absent";
    };
  };

  /** Returns the answers of a run's models, to be replayed. Role: viewer. */
  "GET /runs/{runId}/recording": {
    request: { path: { runId: string } };
    reply: {
      /** The run. */
      run: RecordedRun;
    };
  };

  /** Cancels a run, even when every runner is busy. Role: operator. */
  "POST /runs/{runId}/cancel": {
    request: {
      path: { runId: string };
      body?: {
        /** Why, in words for people. */
        reason?: PromptName;
      };
    };
    reply: {
      /** `remembered`: no runner has the run yet. `ended`: it had ended before. */
      outcome: "requested" | "remembered" | "ended";
    };
  };

  /** Continues a failed, cancelled or dead run. Role: operator. */
  "POST /runs/{runId}/retry": {
    request: {
      path: { runId: string };
      body?: {
        /** Limits of the run. Fields that are left out keep their value. */
        limits?: RunLimits;
      };
    };
    reply: { runId: string; sequence: number };
  };

  /** Wakes a waiting run, with other limits if wanted. Role: operator. */
  "POST /runs/{runId}/resume": {
    request: {
      path: { runId: string };
      body?: {
        /** Limits of the run. Fields that are left out keep their value. */
        limits?: RunLimits;
      };
    };
    reply: { runId: string; sequence: number };
  };

  /** Adds a message to the next step of a run. Role: operator. */
  "POST /runs/{runId}/steer": {
    request: {
      path: { runId: string };
      body: {
        /** Message for the run's next step. */
        message: SteerMessage;
      };
    };
    reply: { runId: string; sequence: number };
  };

  /** Starts a new run from a step of another one. Role: operator. */
  "POST /runs/{runId}/fork": {
    request: {
      path: { runId: string };
      body: {
        /** Id of the new run; left out: a new id. */
        newRunId?: RunId;
        /** The first model call that is made anew, from 1. */
        fromStep: number;
        /** Input of the run: a text, a list of texts and files, or a JSON object. At most 4 MiB as JSON. */
        input?: RunInput;
        /** Replaces the agent of the other run. */
        agent?: string;
        /** Replaces the model of the other run, as `provider/model`. */
        model?: ModelName;
        /** Limits of the run. Fields that are left out keep their value. */
        limits?: RunLimits;
        /** Labels, by name. */
        labels?: { [name: string]: string };
      };
      idempotencyKey?: string;
    };
    reply: { runId: string; sequence: number };
  };

  /** Answers a question of a run. Role: operator. */
  "POST /runs/{runId}/answers": {
    request: {
      path: { runId: string };
      body: {
        /** Id of the tool call. A call that is repeated under its id returns the stored result. */
        callId: string;
        /** The answer. */
        answer: Answer;
      };
    };
    reply: {
      /** `answered_before`: an earlier answer counts. */
      outcome: "accepted" | "answered_before";
    };
  };

  /** Stores a file, as a part of the inputs of its owner's runs. Role: operator. */
  "POST /files": {
    request:
      | {
          body: {
            /** Name of the file for people. */
            name: FileName;
            /** Media type; where the bytes show another one, that one counts. */
            mediaType?: string;
            /** The bytes in base64. */
            base64?: string;
          };
        }
      | {
          query: Omit<
            {
              /** Name of the file for people. */
              name: FileName;
              /** Media type; where the bytes show another one, that one counts. */
              mediaType?: string;
              /** The bytes in base64. */
              base64?: string;
            },
            "base64"
          >;
          attachment: Blob;
        };
    reply: {
      /** The stored file, as a part of an input. */
      file: FilePart;
      /** When it ends unless it is used before. */
      endsAt: Timestamp;
    };
  };

  /** Returns the facts about a stored file of the caller. Role: viewer. */
  "GET /files/{ref}": {
    request: { path: { ref: string } };
    reply: {
      /** The stored file, as a part of an input. */
      file: FilePart;
      /** When it ends unless it is used before. */
      endsAt: Timestamp;
    };
  };

  /** Lists the caller's sessions, the one used last first. Role: viewer. */
  "GET /sessions": {
    request: {
      query?: {
        /** Only those of these kinds. */
        kinds?: SessionKind[];
        /** A part of the key, the label or the title, in any case. */
        search?: IfVersion;
        /** Only sessions that were used within so many minutes. */
        activeMinutes?: number;
        /** The most entries to return. */
        limit?: number;
        /** The number of last messages of each session in the reply. */
        messageLimit?: number;
        /** `next` of the page before; left out: the first page. */
        cursor?: ListCursor;
        /** The owner; left out: the caller. Only `cli` and `admin` may name another one. */
        owner?: string;
        /** Those of every owner; only for `cli` and `admin`. */
        all?: boolean;
      };
    };
    reply: {
      /** The number of entries. */
      count: number;
      /** The sessions. */
      sessions: {
        /** Id of the session; a reset gives the session another one. */
        sessionId: SessionId;
        /** Key of the session. */
        key: string;
        /** The NATS user to whom it belongs. */
        owner: string;
        /** Selects the form of this object; its other fields depend on it. */
        kind: SessionKind;
        /** Name for people; null without one. */
        label: string | null;
        /** First words of the first message, a name for people; missing before the first message. */
        title?: string;
        /** Name of the agent. */
        agent: string;
        /** The model that replaces the agent's; null: none. */
        model: ModelName | null;
        /** Skills that are switched off for runs of the session. */
        skillsOff: string[];
        /** The treatment of a message while another run of the session is in progress. */
        onBusy: BusyPolicy;
        /** Version, for `ifVersion` or If-Match of a change. */
        version?: string;
        /** When it was created. */
        createdAt: Timestamp;
        /** When it changed last. */
        updatedAt: Timestamp;
        /** When it ends unless it is used before. */
        endsAt: Timestamp;
        /** Messages in the history. */
        messages: number;
        /** Messages that the history has no room for any more. */
        droppedMessages: number;
        /** Size of the history in bytes. */
        bytes: number;
        /** The run in progress; null when there is none. */
        activeRun: RunId | null;
        /** Messages that wait for it to end. */
        queued: number;
        /** The run that ended last; null before the first one ended. */
        lastRun: {
          /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
          runId: RunId;
          /** The outcome. */
          status: "succeeded" | "failed" | "cancelled" | "dead";
          /** The model, as `provider/model`. */
          model?: ModelName;
          /** Tokens of the model's context window; null when it is not known. */
          contextWindow?: number;
          /** The reasoning effort of the model; left out or null: the default. */
          thinking?: ThinkingLevel;
        } | null;
        /** Input and output tokens of all runs of the session. */
        totalTokens: number;
        /** The last messages, oldest first. */
        history?: SessionMessage[];
      }[];
      /** `cursor` of the next page; null when this is the last one. */
      next: NextCursor;
    };
  };

  /** Returns one session: its settings, its cost and its run in progress. Role: viewer. */
  "GET /sessions/{session}": {
    request: {
      path: { session: string };
      query?: {
        /** The owner; left out: the caller. Only `cli` and `admin` may name another one. */
        owner?: string;
      };
    };
    reply: {
      /** The session. */
      session: Session;
    };
  };

  /** Changes the label and the settings of a session. Role: operator. */
  "PATCH /sessions/{session}": {
    request: {
      path: { session: string };
      body?: {
        /** The owner; left out: the caller. Only `cli` and `admin` may name another one. */
        owner?: string;
        /** New name for people; null removes it. */
        label?: IfVersion | null;
        /** The purpose of the session. */
        kind?: SessionKind;
        /** The treatment of a message while another run of the session is in progress. */
        onBusy?: BusyPolicy;
        /** Name of the agent. */
        agent?: string;
        /** The model that replaces the agent's; null: the agent's own again. */
        model?: ModelName | null;
        /** Skills that are switched off for runs of the session. */
        skillsOff?: string[];
      };
      ifMatch?: string;
    };
    reply: {
      /** The session. */
      session: Session;
    };
  };

  /** Ends and deletes a session; its run is cancelled. Role: operator. */
  "DELETE /sessions/{session}": {
    request: {
      path: { session: string };
      query?: {
        /** The owner; left out: the caller. Only `cli` and `admin` may name another one. */
        owner?: string;
      };
      ifMatch?: string;
    };
    reply: {
      /** Id of the session; a reset gives the session another one. */
      sessionId: SessionId;
      /** Key of the session, unique among those of its owner. */
      sessionKey: string;
      /** The run that was cancelled; null when none was in progress. */
      cancelledRun: RunId | null;
      /** Messages that waited and are not answered. */
      droppedRuns: RunId[];
    };
  };

  /** Returns the last messages of a session. Role: viewer. */
  "GET /sessions/{session}/history": {
    request: {
      path: { session: string };
      query?: {
        /** The owner; left out: the caller. Only `cli` and `admin` may name another one. */
        owner?: string;
        /** The most entries to return. */
        limit?: number;
        /** True: with the answers of tools. */
        includeTools?: boolean;
      };
    };
    reply: {
      /** Id of the session; a reset gives the session another one. */
      sessionId: SessionId;
      /** Key of the session, unique among those of its owner. */
      sessionKey: string;
      /** The messages, oldest first. */
      messages: SessionMessage[];
      /** True when a part was left out because it was too long. */
      truncated: boolean;
      /** Messages that the history has no room for any more. */
      droppedMessages: number;
      /** True when a text is cut. */
      contentTruncated: boolean;
      /** True when credentials were masked. */
      contentRedacted: boolean;
      /** Size of the messages as JSON, in bytes; at most 81,920. */
      bytes: number;
    };
  };

  /** Sends a message to a session, and may wait for the answer. Role: operator. */
  "POST /sessions/{session}/messages": {
    request: {
      path: { session: string };
      body: {
        /** Names the session by its label, in place of `session`. */
        label?: IfVersion;
        /** The owner; left out: the caller. Only `cli` and `admin` may name another one. */
        owner?: string;
        /** The message. It may be empty where there are files. */
        message: SteerMessage | "";
        /** Files of the message, as `files.put` returned them. */
        files?: MessageFiles;
        /** The agent that answers; left out: the session's. */
        agent?: string;
        /** The model that replaces the agent's, for this message. */
        model?: ModelName;
        /** The reasoning effort of the model; left out or null: the default. */
        thinking?: ThinkingLevel;
        /** Name of the skill. */
        skill?: string;
        /** Limits of the run. Fields that are left out keep their value. */
        limits?: RunLimits;
        /** Skills that are switched off for runs of the session. */
        skillsOff?: string[];
        /** The treatment of a message while another run of the session is in progress. */
        onBusy?: BusyPolicy;
        /** Time to wait, in seconds; 0 does not wait. */
        timeoutSeconds?: number;
        /** Id of the run that answers. The same id again is the same message. */
        runId?: RunId;
        /** The step after the run. Accepted from the toolbox alone. */
        followUp?: RunFollowUp;
      };
      idempotencyKey?: string;
    };
    reply: {
      /** `accepted`: not waited for. `timeout`: the run continues. `error`: it ended without an answer. */
      status: "accepted" | "ok" | "timeout" | "error";
      /** Id of the session; a reset gives the session another one. */
      sessionId: SessionId;
      /** Key of the session, unique among those of its owner. */
      sessionKey: string;
      /** The run that answers. */
      runId: RunId;
      /** `started` a run, `queued` behind another one, or `steered` into one. */
      placed: "started" | "queued" | "steered";
      /** The answer; missing unless the run ended in time. */
      reply?: string;
      /** A description of the failure, for people. */
      error?: RunFailure;
    };
  };

  /** Deletes the history of a session and cancels its run; name and settings stay. Role: operator. */
  "POST /sessions/{session}/reset": {
    request: {
      path: { session: string };
      body?: {
        /** The owner; left out: the caller. Only `cli` and `admin` may name another one. */
        owner?: string;
      };
    };
    reply: {
      /** The session. */
      session: Session;
      /** Id of the session that ended. */
      endedSessionId: SessionId;
      /** The run that was cancelled; null when none was in progress. */
      cancelledRun: RunId | null;
      /** Messages that waited and are not answered. */
      droppedRuns: RunId[];
    };
  };

  /** Checks claims about a session of the caller, and returns a token for calls under its rules. Role: operator. */
  "POST /sessions/{session}/claim": {
    request: {
      path: { session: string };
      body?: {
        /** The agent in whose place the caller acts. */
        agent?: string;
        /** The channel of the conversation. */
        channel?: string;
        /** The group conversation in the channel. */
        group?: string;
        /** The number of runs above those of the session. */
        depth?: number;
      };
    };
    reply: {
      /** The token for calls under the rules of the session. */
      token: string;
      /** When it ends; from then on it has no effect. */
      expiresAt: Timestamp;
      /** Id of the session; a reset gives the session another one. */
      sessionId: SessionId;
      /** Key of the session, unique among those of its owner. */
      sessionKey: string;
      /** The agent of the session's run. */
      agent: string;
      /** The channel of the conversation; null: it has none. */
      channel: string | null;
      /** The group conversation in the channel; null: it has none. */
      group: string | null;
      /** The number of runs above those of the session. */
      depth: number;
    };
  };

  /** Lists the caller's jobs. Role: viewer. */
  "GET /schedules": {
    request: {
      query?: {
        /** True: with the disabled ones. */
        includeDisabled?: boolean;
        /** Only the enabled or the disabled ones; overrides `includeDisabled`. */
        enabled?: "all" | "enabled" | "disabled";
        /** A part of the text to look for, in any case. */
        query?: string;
        /** The field to sort by. */
        sortBy?: "nextRunAtMs" | "updatedAtMs" | "name";
        /** Ascending or descending. */
        sortDir?: "asc" | "desc";
        /** The most entries to return. */
        limit?: number;
        /** The number of entries to skip. */
        offset?: number;
        /** `next` of the page before; left out: the first page. */
        cursor?: string;
        /** The owner; left out: the caller. Only `cli` and `admin` may name another one. */
        owner?: string;
        /** Those of every owner; only for `cli` and `admin`. */
        all?: boolean;
      };
    };
    reply: {
      /** The jobs. */
      jobs: ScheduleJob[];
      /** The number of entries without the limit of the page. */
      total: number;
      /** The requested offset. */
      offset: number;
      /** The requested limit. */
      limit: number;
      /** True when there is another page. */
      hasMore: boolean;
      /** `offset` of the next page; null when this is the last one. */
      nextOffset: number | null;
      /** `cursor` of the next page; null when this is the last one. */
      next: NextCursor;
    };
  };

  /** Adds a job; its runs are the caller's. Role: operator. */
  "POST /schedules": {
    request: {
      body?: {
        /** The job. */
        job?: ScheduleJobInputInput;
        /** For a day, the same key returns the result of the first request with it. */
        idempotencyKey?: string;
      };
      idempotencyKey?: string;
    };
    reply: {
      /** The job. */
      job: ScheduleJob;
    };
  };

  /** Returns how many jobs the caller has, and when the next one is due. Role: viewer. */
  "GET /schedules/status": {
    request: {
      query?: {
        /** The owner; left out: the caller. Only `cli` and `admin` may name another one. */
        owner?: string;
      };
    };
    reply: {
      /** True while jobs run. */
      enabled: boolean;
      /** The number of the caller's jobs. */
      jobs: number;
      /** The most jobs that the caller may have. */
      limit: number;
      /** When the next job is due, in milliseconds since 1970; null: none. */
      nextWakeAtMs: number | null;
      /** Interval of the heartbeat, in milliseconds; 0: none. */
      heartbeatMs: number;
    };
  };

  /** Lists the outcomes of the due times of a job, or of all jobs, the latest first. Role: viewer. */
  "GET /schedules/runs": {
    request: {
      query?: {
        /** `job` or `all`; left out: `job` when `jobId` is given. */
        scope?: "job" | "all";
        /** Id of the job. */
        jobId?: IfVersion;
        /** The most entries to return. */
        limit?: number;
        /** The number of entries to skip. */
        offset?: number;
        /** Only entries with these results. */
        statuses?: JobRunStatus[];
        /** Only entries whose answers had this delivery. */
        deliveryStatuses?: DeliveryStatus[];
        /** A part of the text to look for, in any case. */
        query?: string;
        /** Ascending or descending. */
        sortDir?: "asc" | "desc";
        /** The owner; left out: the caller. Only `cli` and `admin` may name another one. */
        owner?: string;
      };
    };
    reply: {
      /** The entries. */
      entries: ScheduleRun[];
      /** The number of entries without the limit of the page. */
      total: number;
      /** The requested offset. */
      offset: number;
      /** The requested limit. */
      limit: number;
      /** True when there is another page. */
      hasMore: boolean;
      /** `offset` of the next page; null when this is the last one. */
      nextOffset: number | null;
    };
  };

  /** Posts a text in the caller's main session, now or at the next heartbeat. Role: operator. */
  "POST /schedules/wake": {
    request: {
      body: {
        /** The text to post. */
        text: SteerMessage;
        /** `now`, or with the next heartbeat. */
        mode?: "next-heartbeat" | "now";
        /** The agent; left out or null: the installation's agent for jobs. */
        agentId?: string;
        /** The session; left out: `main`. */
        sessionKey?: string;
      };
    };
    reply: {
      /** Always true. */
      ok: true;
      /** Id of the job. */
      jobId: ScheduleId;
    };
  };

  /** Changes a job. A due time that has come is kept unless the schedule is changed. A declared one can be paused alone. Role: operator. */
  "PATCH /schedules/{jobId}": {
    request: { path: { jobId: string }; body?: ScheduleJobPatch; ifMatch?: string };
    reply: {
      /** The job. */
      job: ScheduleJob;
    };
  };

  /** Removes a job, unless it is declared. A run in progress continues. Role: operator. */
  "DELETE /schedules/{jobId}": {
    request: {
      path: { jobId: string };
      query?: {
        /** The owner; left out: the caller. Only `cli` and `admin` may name another one. */
        owner?: string;
      };
      ifMatch?: string;
    };
    reply: {
      /** Id of the job. */
      jobId: ScheduleId;
      /** False when there was no such job. */
      removed: boolean;
    };
  };

  /** Runs a job now, or only when it is due. Role: operator. */
  "POST /schedules/{jobId}/run": {
    request: {
      path: { jobId: string };
      body?: {
        /** `due`: only when the job is due; `force`: in any case. */
        mode?: "due" | "force";
        /** The owner; left out: the caller. Only `cli` and `admin` may name another one. */
        owner?: string;
      };
    };
    reply: {
      /** True when a run was started. */
      ran: boolean;
      /** The reason why no run was started. */
      reason?: "not-due" | "already-running" | "disabled";
      /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
      runId?: RunId;
    };
  };

  /** Returns one job. Role: viewer. */
  "GET /schedules/{jobId}": {
    request: {
      path: { jobId: string };
      query?: {
        /** The owner; left out: the caller. Only `cli` and `admin` may name another one. */
        owner?: string;
      };
    };
    reply: {
      /** The job. */
      job: ScheduleJob;
    };
  };

  /** Lists the outcomes of the due times of a job, or of all jobs, the latest first. Role: viewer. */
  "GET /schedules/{jobId}/runs": {
    request: {
      path: { jobId: string };
      query?: {
        /** `job` or `all`; left out: `job` when `jobId` is given. */
        scope?: "job" | "all";
        /** The most entries to return. */
        limit?: number;
        /** The number of entries to skip. */
        offset?: number;
        /** Only entries with these results. */
        statuses?: JobRunStatus[];
        /** Only entries whose answers had this delivery. */
        deliveryStatuses?: DeliveryStatus[];
        /** A part of the text to look for, in any case. */
        query?: string;
        /** Ascending or descending. */
        sortDir?: "asc" | "desc";
        /** The owner; left out: the caller. Only `cli` and `admin` may name another one. */
        owner?: string;
      };
    };
    reply: {
      /** The entries. */
      entries: ScheduleRun[];
      /** The number of entries without the limit of the page. */
      total: number;
      /** The requested offset. */
      offset: number;
      /** The requested limit. */
      limit: number;
      /** True when there is another page. */
      hasMore: boolean;
      /** `offset` of the next page; null when this is the last one. */
      nextOffset: number | null;
    };
  };

  /** Lists the accounts that the caller may use, and how each is. Role: viewer. */
  "GET /channels/accounts": {
    request: {
      query?: {
        /** Name of the channel, such as `telegram`. */
        channel?: ChannelName;
      };
    };
    reply: {
      /** The accounts. */
      accounts: ChannelAccount[];
      /** Entries of channels.json that are not in force. */
      problems: string[];
    };
  };

  /** Returns what an account supports. Role: viewer. */
  "GET /channels/{channel}/{accountId}/capabilities": {
    request: { path: { channel: string; accountId: string } };
    reply: {
      /** Name of the channel, such as `telegram`. */
      channel: ChannelName;
      /** Account of the channel, as channels.json names it. */
      accountId: string;
      /** The supported features. */
      capabilities: Capabilities;
    };
  };

  /** Checks an account's credentials at its provider. Role: operator. */
  "POST /channels/{channel}/{accountId}/check": {
    request: { path: { channel: string; accountId: string } };
    reply: {
      /** Name of the channel, such as `telegram`. */
      channel: ChannelName;
      /** Account of the channel, as channels.json names it. */
      accountId: string;
      /** True when the provider accepts the credentials. */
      ok: boolean;
      /** The account's name at the provider; null when it is not known. */
      identity: string | null;
      /** The reason why it does not; null when it does. */
      problem: string | null;
    };
  };

  /** Sends a message to a person, group or channel, as a reply or in a thread. Role: operator. */
  "POST /channels/messages": {
    request: {
      body: {
        /** The text; a long one is cut into several messages. */
        text?: string;
        /** Attached files. */
        attachments?: Attachment[];
        /** One of the account's `effects`. */
        effectId?: string;
        /** The fallback when the account has no such effect: refuse, or send without it. */
        effectFallback?: "refuse" | "plain";
        /** True: without a sound on the other side, where the provider can. */
        silent?: boolean;
        /** True: everything is checked, and nothing is changed or sent. */
        dryRun?: boolean;
        /** Name of the tool. */
        tool?: string;
        /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
        runId?: RunId;
        /** Key of the session, unique among those of its owner. */
        sessionKey?: string;
        /** For a day, the same key returns the result of the first request with it. */
        idempotencyKey?: string;
        /** The address. */
        to: AddressInput;
        /** The message that this one replies to. */
        replyToMessageId?: ProviderId;
      };
      idempotencyKey?: string;
    };
    reply: {
      /** Selects the form of this object; its other fields depend on it. */
      kind: "send";
      /** Id of the sent message. */
      sendId: SendId;
      /** The address. */
      address: Address;
      /** Ids of the messages at the provider; several when the text was cut. */
      messageIds: string[];
      /** When it was sent; null for a dry run. */
      sentAt: SearchedFrom;
      /** The channel's adapter that did it. */
      handledBy: ChannelName;
      /** True: everything is checked, and nothing is changed or sent. */
      dryRun: boolean;
      /** Requested features that were left out, such as an effect. */
      degraded: string[];
      /** True when the result is the stored one of an earlier request with the same id. */
      replayed: boolean;
      /** With `dryRun`: the attachments as they were loaded, in the order of the request. */
      loadedFiles?: {
        /** Name of the file. */
        name: string;
        /** Type that the bytes show; `application/octet-stream` for bytes of no known type. */
        mediaType: string;
        /** Size of the file, in bytes. */
        sizeBytes: number;
        /** SHA-256 of the bytes, in hexadecimal digits. */
        sha256: string;
      }[];
    };
  };

  /** Reads the last messages at an address, oldest first. Role: operator. */
  "POST /channels/messages/read": {
    request: {
      body: {
        /** The address. */
        address: AddressInput;
        /** The most entries to return. */
        limit?: number;
        /** Only messages before the one of this id. */
        before?: ProviderId;
        /** Only messages after the one of this id. */
        after?: ProviderId;
      };
    };
    reply: {
      /** The address. */
      address: Address;
      /** The messages, oldest first. */
      messages: ReadMessage[];
    };
  };

  /** Submits a message in a channel of Switchyard's own: webchat or loopback. Role: operator. */
  "POST /channels/{channel}/submit": {
    request: {
      path: { channel: string };
      body: {
        /** Account of the channel, as channels.json names it. */
        accountId?: string;
        /** The conversation; left out: the caller's own. */
        target?: Target;
        /** Id of the thread; missing outside of threads. */
        threadId?: ProviderId;
        /** Id of the message; the same id again is the same message. */
        messageId?: ProviderId;
        /** The text. */
        text: string;
        /** The message that this one replies to. */
        replyToMessageId?: ProviderId;
        /** True when the message addresses the account. */
        mentionsAccount?: boolean;
      };
    };
    reply: {
      /** The address. */
      address: Address;
      /** Id of the message at its provider. */
      messageId: string;
      /** `known`: it was received before. `ignored`: the account's rules refuse it. */
      outcome: "stored" | "known" | "ignored";
      /** The reason why it is ignored; null otherwise. */
      reason: string | null;
    };
  };

  /** Lists approvals that the caller may decide or has asked for, newest first. Role: viewer. */
  "GET /approvals": {
    request: {
      query?: {
        /** True: only those that wait for a person. */
        pendingOnly?: boolean;
        /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
        runId?: RunId;
        /** The most entries to return. */
        limit?: number;
        /** `next` of the page before; left out: the first page. */
        cursor?: string;
      };
    };
    reply: {
      /** The approvals, newest first. */
      approvals: Approval[];
      /** `cursor` of the next page; null when this is the last one. */
      next: string | null;
      /** The number of approvals that wait for a person. */
      pending: number;
      /** True for a caller who decides about all calls. */
      decidesAll?: boolean;
    };
  };

  /** Shows one approval with the arguments it is about and what its run did before. Role: viewer. */
  "GET /approvals/{id}": {
    request: { path: { id: string } };
    reply: {
      /** The approval as it is now. */
      approval: Approval;
      /** The arguments in the form that a person sees: secrets are masked. */
      presentation: Presentation;
      /** The values behind masks in the arguments; left out for a caller who is shown none. */
      unmasked?: {
        /** The mask. */
        mask: string;
        /** The value behind it. */
        value: string;
      }[];
      /** The arguments that an approver put in place of those of the call. */
      edited?: Presentation;
      /** The run's steps before the call; null for a call of no run. */
      context?: CallContext | null;
    };
  };

  /** Approves a waiting call, once or for more calls of its kind; some need several people. Role: approver. */
  "POST /approvals/{id}/approve": {
    request: {
      path: { id: string };
      body?: {
        /** Digest that binds the approval to exactly this call. Send it back as it was shown. */
        binding?: Digest;
        /** `once`: this call; `session`: more calls of its kind for a while. */
        scope?: "once" | "session";
        /** Why, in words for people. */
        reason?: string;
        /** Lifetime of the standing approval in seconds, at most the rule's. */
        ttlSeconds?: number;
        /** The number of calls that a standing approval may let pass. */
        maxUses?: number;
        /** Makes this one call with these arguments in place of its own; the rules decide about them. */
        arguments?: { [name: string]: unknown };
        /** JSON pointers of arguments that must have the approved call's values. */
        sameArguments?: string[];
      };
    };
    reply: {
      /** The approval as it is now. */
      approval: Approval;
      /** The standing approval; null for a single call. */
      grant: SessionGrant | null;
    };
  };

  /** Denies a waiting call; the agent gets the reason. Role: approver. */
  "POST /approvals/{id}/deny": {
    request: {
      path: { id: string };
      body?: {
        /** Digest that binds the approval to exactly this call. Send it back as it was shown. */
        binding?: Digest;
        /** Why, in words for people. */
        reason?: string;
      };
    };
    reply: {
      /** The approval as it is now. */
      approval: Approval;
    };
  };

  /** Cancels the request for an approval; the call is not made. Role: operator. */
  "POST /approvals/{id}/cancel": {
    request: {
      path: { id: string };
      body?: {
        /** Why, in words for people. */
        reason?: string;
      };
    };
    reply: {
      /** The approval as it is now. */
      approval: Approval;
    };
  };

  /** Makes a one-time code; who sends it to a bot in private decides there as the caller. Role: viewer. */
  "POST /chat-links": {
    request: {
      body?: {
        /** True: calls that the caller may decide about are sent to the private chat. */
        asks?: boolean;
      };
    };
    reply: {
      /** The one-time code to send to the bot in a private chat. It is shown here and never again. */
      code: ChatLinkCode;
      /** When the code ends. */
      expiresAt: Timestamp;
    };
  };

  /** Lists the chats in which the caller may decide; for policy admins those of any user. Role: viewer. */
  "GET /chat-links": {
    request: {
      query?: {
        /** Whose links; left out: the caller's own; `*`: those of every user. */
        user?: string | "*";
      };
    };
    reply: {
      /** The links, those that end first before the others. */
      links: ChatLink[];
    };
  };

  /** Ends a link of the caller at once; for policy admins one of any user. Role: viewer. */
  "DELETE /chat-links/{id}": {
    request: { path: { id: string } };
    reply: {
      /** The link of a person in a chat with a caller. */
      link: ChatLink;
    };
  };

  /** Lists standing approvals that the caller may revoke or profits from. Role: viewer. */
  "GET /grants": {
    request: {
      query?: {
        /** The most entries to return. */
        limit?: number;
      };
    };
    reply: {
      /** The standing approvals. */
      grants: SessionGrant[];
    };
  };

  /** Ends a standing approval; later calls need a person again. Role: approver. */
  "DELETE /grants/{id}": {
    request: { path: { id: string } };
    reply: {
      /** The standing approval; null for a single call. */
      grant: SessionGrant;
    };
  };

  /** Lists the tools of connected servers that the policy lets the principal call. Role: viewer. */
  "GET /tools": {
    request: {
      query?: {
        /** Only tools of this server. */
        server?: ServerId;
        /** True: with the findings about each definition. */
        findings?: boolean;
      };
    };
    reply: {
      /** The tools. */
      tools: ToolInfo[];
      /** Servers whose tools are missing, and why. */
      failures: {
        /** Id of the MCP server. */
        server: ServerId;
        /** State of the connection. */
        status: ServerStatus;
        /** A description of the failure, for people. */
        error: string;
      }[];
      /** The text of the instructions. */
      instructions?: string;
    };
  };

  /** Lists the built-in tools that the policy lets the principal call. Role: viewer. */
  "GET /tools/builtin": {
    request: {};
    reply: {
      /** The tools. */
      tools: BuiltinInfo[];
    };
  };

  /** Calls a built-in tool after the policy allowed exactly this call. Role: operator. */
  "POST /tools/builtin/{tool}/call": {
    request: {
      path: { tool: string };
      body: {
        /** Arguments of the call, by name. */
        args: { [name: string]: unknown };
        /** Id of the tool call. A call that is repeated under its id returns the stored result. */
        callId?: CallId;
        /** The approval that an earlier `approval_required` named; needed without `callId`. */
        approvalId?: ApprovalId;
      };
      idempotencyKey?: string;
    };
    reply: {
      /** Content blocks of MCP, in order. */
      content: ContentBlock[];
      /** The result as data; absent when the tool failed. */
      structuredContent?: unknown;
      /** True when the tool failed; the text has the reason. */
      isError: boolean;
      /** Text form of the result, as an agent gets it. */
      text: string;
      /** The policy's decision. */
      decision: Decision;
      /** The duration, in milliseconds. */
      durationMs: number;
      /** True when the result is the stored one of an earlier request with the same id. */
      replayed: boolean;
    };
  };

  /** Cancels a call of a built-in tool in progress, with the command that it runs. Role: operator. */
  "POST /tools/builtin/cancel": {
    request: {
      body: {
        /** Id of the tool call. A call that is repeated under its id returns the stored result. */
        callId: CallId;
      };
    };
    reply: {
      /** True when it was in progress and is cancelled. */
      cancelled: boolean;
    };
  };

  /** Calls a tool of an MCP server after the policy allowed exactly this call. Role: operator. */
  "POST /tools/mcp/{server}/{tool}/call": {
    request: {
      path: { server: string; tool: string };
      body: {
        /** Arguments of the call, by name. */
        args: { [name: string]: unknown };
        /** Id of the tool call. A call that is repeated under its id returns the stored result. */
        callId?: CallId;
        /** The approval that an earlier `approval_required` named; needed without `callId`. */
        approvalId?: ApprovalId;
        /** Metadata of the client for the server; keys that MCP reserves are left out. */
        _meta?: CallMeta;
      };
      idempotencyKey?: string;
    };
    reply: {
      /** Content blocks of MCP, in order. */
      content: ContentBlock[];
      /** The result as data; absent when the tool failed. */
      structuredContent?: unknown;
      /** Metadata of an MCP message, beside its content. */
      _meta?: { [name: string]: unknown };
      /** True when the tool failed; the text has the reason. */
      isError: boolean;
      /** Text form of the result, as an agent gets it. */
      text: string;
      /** The policy's decision. */
      decision: Decision;
      /** The duration, in milliseconds. */
      durationMs: number;
      /** True when the result is the stored one of an earlier request with the same id. */
      replayed: boolean;
    };
  };

  /** Lists the tools of connected servers that the policy lets the principal call. Role: viewer. */
  "GET /mcp/tools": {
    request: {
      query?: {
        /** Only tools of this server. */
        server?: ServerId;
        /** True: with the findings about each definition. */
        findings?: boolean;
      };
    };
    reply: {
      /** The tools. */
      tools: ToolInfo[];
      /** Servers whose tools are missing, and why. */
      failures: {
        /** Id of the MCP server. */
        server: ServerId;
        /** State of the connection. */
        status: ServerStatus;
        /** A description of the failure, for people. */
        error: string;
      }[];
      /** The text of the instructions. */
      instructions?: string;
    };
  };

  /** Lists the tools of connected servers that the policy lets the principal call. Role: viewer. */
  "GET /mcp/tools/{server}": {
    request: {
      path: { server: string };
      query?: {
        /** Only tools of this server. */
        id?: ServerId;
        /** True: with the findings about each definition. */
        findings?: boolean;
      };
    };
    reply: {
      /** The tools. */
      tools: ToolInfo[];
      /** Servers whose tools are missing, and why. */
      failures: {
        /** Id of the MCP server. */
        server: ServerId;
        /** State of the connection. */
        status: ServerStatus;
        /** A description of the failure, for people. */
        error: string;
      }[];
      /** The text of the instructions. */
      instructions?: string;
    };
  };

  /** Lists the questions of MCP servers that the caller may answer, newest first. Role: viewer. */
  "GET /mcp/questions": {
    request: {
      query?: {
        /** Id of the MCP server. */
        server?: ServerId;
        /** True: only those that wait for an answer. */
        pendingOnly?: boolean;
      };
    };
    reply: {
      /** The questions, newest first. */
      questions: Question[];
    };
  };

  /** Answers a question of an MCP server, once. Role: operator. */
  "POST /mcp/questions/{id}/answer": {
    request: {
      path: { id: string };
      body: {
        /** The person's action: accept, decline or close the question. */
        action: "accept" | "decline" | "cancel";
        /** Values of an accepted form, by field. */
        content?: AnswerContent;
      };
    };
    reply: {
      /** The question after the answer. */
      question: Question;
    };
  };

  /** Lists the stored secrets of MCP servers by name; never their values. Role: admin. */
  "GET /mcp/secrets": {
    request: {};
    reply: {
      /** The secrets, by name. */
      secrets: ServerSecret[];
    };
  };

  /** Stores or replaces a secret of MCP servers; those that use it connect anew. Role: admin. */
  "PUT /mcp/secrets/{name}": {
    request: {
      path: { name: string };
      body: {
        /** The value; no reply, event or log contains it. */
        value: Credential;
        /** The only servers that may use it; null for all. Left out: as before, or all for a new one. */
        servers?: ServerId[] | null;
      };
    };
    reply: {
      /** The secret without its value. */
      secret: ServerSecret;
    };
  };

  /** Deletes a secret that no MCP server uses. Role: admin. */
  "DELETE /mcp/secrets/{name}": {
    request: { path: { name: string } };
    reply: {
      /** Always true. */
      deleted: true;
      /** Name of the deleted secret. */
      name: string;
    };
  };

  /** Lists the configured MCP servers with their true status. Role: admin. */
  "GET /mcp/servers": {
    request: {};
    reply: {
      /** The MCP servers. */
      servers: ServerInfo[];
    };
  };

  /** Adds an MCP server and begins to connect it. Role: admin. */
  "POST /mcp/servers": {
    request: { body?: { [name: string]: unknown } };
    reply: {
      /** The server after the change. */
      server: ServerInfo;
    };
  };

  /** Shows one MCP server: status and declaration, literal secrets as [redacted]. Role: admin. */
  "GET /mcp/servers/{id}": {
    request: { path: { id: string } };
    reply: {
      /** The MCP server: its connection and features. */
      server: ServerInfo;
      /** The declaration of the server; literal secrets are `[redacted]`. */
      declaration: { [name: string]: unknown };
      /** When it was changed last; null for a server of the file. */
      updatedAt: SearchedFrom;
      /** Version, for `ifVersion` or If-Match of a change. */
      version?: string;
    };
  };

  /** Changes fields of an MCP server; reconnects it where its connection needs it. Role: admin. */
  "PATCH /mcp/servers/{id}": {
    request: { path: { id: string }; body?: { [name: string]: unknown }; ifMatch?: string };
    reply: {
      /** The server after the change. */
      server: ServerInfo;
      /** Version, for `ifVersion` or If-Match of a change. */
      version?: string;
    };
  };

  /** Changes fields of an MCP server; reconnects it where its connection needs it. Role: admin. */
  "PUT /mcp/servers/{id}": {
    request: { path: { id: string }; body?: { [name: string]: unknown }; ifMatch?: string };
    reply: {
      /** The server after the change. */
      server: ServerInfo;
      /** Version, for `ifVersion` or If-Match of a change. */
      version?: string;
    };
  };

  /** Removes an MCP server; replies when its connection and its processes have ended. Role: admin. */
  "DELETE /mcp/servers/{id}": {
    request: { path: { id: string }; ifMatch?: string };
    reply: {
      /** Always true. */
      removed: true;
      /** Id of the MCP server. */
      server: string;
    };
  };

  /** Connects an MCP server, or connects it anew; answers when the attempt is over. Role: admin. */
  "POST /mcp/servers/{id}/connect": {
    request: { path: { id: string } };
    reply: {
      /** The server after the attempt. */
      server: ServerInfo;
    };
  };

  /** Ends a connection until mcp.connect or a restart; an unknown server is not an error. Role: admin. */
  "POST /mcp/servers/{id}/disconnect": {
    request: { path: { id: string } };
    reply: {
      /** The server; null when there is none of this id. */
      server: ServerInfo | null;
    };
  };

  /** Enables or disables an MCP server until the next change. Role: admin. */
  "POST /mcp/servers/{id}/enable": {
    request: {
      path: { id: string };
      body: {
        /** True when it is switched on. */
        enabled: boolean;
      };
    };
    reply: {
      /** The server after the change. */
      server: ServerInfo;
    };
  };

  /** Discards changes by request: the declaration of the file counts again. Role: admin. */
  "POST /mcp/servers/{id}/reset": {
    request: { path: { id: string } };
    reply: {
      /** The server after the change. */
      server: ServerInfo;
    };
  };

  /** The last lines that an MCP server's process wrote to stderr. Role: admin. */
  "GET /mcp/servers/{id}/logs": {
    request: {
      path: { id: string };
      query?: {
        /** The number of last lines to return. */
        tail?: number;
      };
    };
    reply: {
      /** The last lines of stderr, oldest first. */
      lines: string[];
      /** False for a server that is reached over HTTP. */
      hasProcess?: boolean;
    };
  };

  /** Reads the tool list of a connected MCP server again. Role: admin. */
  "POST /mcp/servers/{id}/refresh": {
    request: { path: { id: string } };
    reply: {
      /** The number of tools that the server lists. */
      toolCount: number;
    };
  };

  /** Lists the pinned tools of an MCP server with their states and findings. Role: admin. */
  "GET /mcp/servers/{id}/pins": {
    request: {
      path: { id: string };
      query?: {
        /** Only pins in these states; left out: all. */
        states?: PinState[];
        /** The most entries to return. */
        limit?: number;
        /** The last tool of the page before. */
        after?: PromptName;
      };
    };
    reply: {
      /** The pins, by tool. */
      pins: ToolPin[];
      /** True when there are more than those listed. */
      more: boolean;
    };
  };

  /** Approves the definitions that an MCP server lists now. Role: admin. */
  "POST /mcp/servers/{id}/pins/approve": {
    request: {
      path: { id: string };
      body?: {
        /** Tools with the digests that were reviewed; left out: all pending and changed ones. */
        tools?: {
          /** Name of the tool at its server. */
          tool: PromptName;
          /** SHA-256 digest that names exactly this version. */
          digest?: Digest;
        }[];
        /** Codes of the hard findings that are accepted. */
        override?: (
          | "hidden_characters"
          | "bidi_control"
          | "bidi_mark"
          | "tag_characters"
          | "control_characters"
          | "name_imitates"
          | "name_resembles"
          | "cross_server_reference"
          | "instruction_like"
          | "encoded_payload"
          | "schema_too_complex"
          | "schema_not_checked"
          | "schema_not_portable"
        )[];
      };
    };
    reply: {
      /** The number of approved tools. */
      approved: number;
    };
  };

  /** Blocks tools of an MCP server, whatever definition it lists. Role: admin. */
  "POST /mcp/servers/{id}/pins/block": {
    request: {
      path: { id: string };
      body: {
        /** The tools. */
        tools: PromptName[];
      };
    };
    reply: {
      /** The number of blocked tools. */
      blocked: number;
    };
  };

  /** Shows what differs between the approved and the listed definition of a tool. Role: admin. */
  "GET /mcp/servers/{id}/pins/{tool}/diff": {
    request: { path: { id: string; tool: string } };
    reply: {
      /** The pin. */
      pin: ToolPin;
      /** True when command or address of the server differ from the approved ones. */
      identityChanged: boolean;
      /** True when only descriptions and titles differ. */
      isReworded?: boolean;
      /** Differences from the approved definition. */
      differences: PinDifference[];
      /** The number of entries not listed. */
      omitted: number;
    };
  };

  /** Begins an OAuth login to an MCP server; a person goes to the address in the reply. Role: admin. */
  "POST /mcp/servers/{id}/login": {
    request: {
      path: { id: string };
      body: {
        /** Address that the browser returns to: http on this machine. */
        redirectUri: string;
      };
    };
    reply: {
      /** Address that a person opens in a browser. */
      authorizationUrl: string;
      /** Value that the browser brings back; valid once. */
      state: string;
      /** When it ends; from then on it has no effect. */
      expiresAt: Timestamp;
    };
  };

  /** Completes an OAuth login with the code from the browser, and connects the server. Role: admin. */
  "POST /mcp/servers/{id}/login/finish": {
    request: {
      path: { id: string };
      body: {
        /** Value that the browser brought back. */
        state: string;
        /** Code that the browser brought back. */
        code: string;
        /** Issuer that the redirect names (RFC 9207). */
        iss?: string;
      };
    };
    reply: {
      /** The server after the login. */
      server: ServerInfo;
    };
  };

  /** Revokes and deletes the login to an MCP server, and connects it without one. Role: admin. */
  "DELETE /mcp/servers/{id}/login": {
    request: { path: { id: string } };
    reply: {
      /** The server after the logout. */
      server: ServerInfo;
      /** False when there was no login. */
      wasLoggedIn: boolean;
      /** The result of revoking the tokens at the authorization server; null without a login. */
      revocation: LoginRevocation | null;
    };
  };

  /** The last log messages that an MCP server sent over the protocol. Role: admin. */
  "GET /mcp/servers/{id}/messages": {
    request: {
      path: { id: string };
      query?: {
        /** The number of last lines to return. */
        tail?: number;
      };
    };
    reply: {
      /** The messages, oldest first. */
      messages: ServerMessage[];
      /** Messages that exceeded the limit per second and were dropped. */
      dropped: number;
    };
  };

  /** Sets from which level on an MCP server sends log messages, for everyone. Role: admin. */
  "POST /mcp/servers/{id}/log-level": {
    request: {
      path: { id: string };
      body: {
        /** Severity, from the least to the worst. */
        level: LogLevel;
      };
    };
    reply: {
      /** Severity, from the least to the worst. */
      level: LogLevel;
    };
  };

  /** Lists the resources of an MCP server that the policy lets the principal read. Role: viewer. */
  "GET /mcp/servers/{id}/resources": {
    request: { path: { id: string } };
    reply: {
      /** The resources. */
      resources: ResourceInfo[];
      /** True when there are more than those listed. */
      more: boolean;
    };
  };

  /** Lists the resource templates of an MCP server that the policy lets the principal use. Role: viewer. */
  "GET /mcp/servers/{id}/resource-templates": {
    request: { path: { id: string } };
    reply: {
      /** The resource templates. */
      templates: ResourceTemplateInfo[];
      /** True when there are more than those listed. */
      more: boolean;
    };
  };

  /** Reads a resource of an MCP server after the policy allowed exactly this one. Role: operator. */
  "POST /mcp/servers/{id}/resources/read": {
    request: {
      path: { id: string };
      body: {
        /** URI of the resource. */
        uri: ResourceUri;
      };
    };
    reply: {
      /** The contents of the resource. */
      contents: ResourceContent[];
      /** Metadata of an MCP message, beside its content. */
      _meta?: { [name: string]: unknown };
      /** The policy's decision. */
      decision: Decision;
    };
  };

  /** Lists the prompts of an MCP server that the policy lets the principal get. Role: viewer. */
  "GET /mcp/servers/{id}/prompts": {
    request: { path: { id: string } };
    reply: {
      /** The prompts. */
      prompts: PromptInfo[];
      /** True when there are more than those listed. */
      more: boolean;
    };
  };

  /** Gets a prompt of an MCP server after the policy allowed it with these arguments. Role: operator. */
  "POST /mcp/servers/{id}/prompts/{name}": {
    request: {
      path: { id: string; name: string };
      body?: {
        /** Arguments of the prompt, by name. */
        args?: { [name: string]: string };
      };
    };
    reply: {
      /** Description of the prompt; null without one. */
      description: string | null;
      /** The messages, in order. */
      messages: PromptMessage[];
      /** Metadata of an MCP message, beside its content. */
      _meta?: { [name: string]: unknown };
      /** The policy's decision. */
      decision: Decision;
    };
  };

  /** Lists the configured MCP servers with their true status. Role: admin. */
  "GET /mcp": {
    request: {};
    reply: {
      /** The MCP servers. */
      servers: ServerInfo[];
    };
  };

  /** Adds an MCP server and begins to connect it. Role: admin. */
  "POST /mcp": {
    request: { body?: { [name: string]: unknown } };
    reply: {
      /** The server after the change. */
      server: ServerInfo;
    };
  };

  /** Shows one MCP server: status and declaration, literal secrets as [redacted]. Role: admin. */
  "GET /mcp/{id}": {
    request: { path: { id: string } };
    reply: {
      /** The MCP server: its connection and features. */
      server: ServerInfo;
      /** The declaration of the server; literal secrets are `[redacted]`. */
      declaration: { [name: string]: unknown };
      /** When it was changed last; null for a server of the file. */
      updatedAt: SearchedFrom;
      /** Version, for `ifVersion` or If-Match of a change. */
      version?: string;
    };
  };

  /** Changes fields of an MCP server; reconnects it where its connection needs it. Role: admin. */
  "PUT /mcp/{id}": {
    request: { path: { id: string }; body?: { [name: string]: unknown }; ifMatch?: string };
    reply: {
      /** The server after the change. */
      server: ServerInfo;
      /** Version, for `ifVersion` or If-Match of a change. */
      version?: string;
    };
  };

  /** Removes an MCP server; replies when its connection and its processes have ended. Role: admin. */
  "DELETE /mcp/{id}": {
    request: { path: { id: string }; ifMatch?: string };
    reply: {
      /** Always true. */
      removed: true;
      /** Id of the MCP server. */
      server: string;
    };
  };

  /** Connects an MCP server, or connects it anew; answers when the attempt is over. Role: admin. */
  "POST /mcp/{id}/connect": {
    request: { path: { id: string } };
    reply: {
      /** The server after the attempt. */
      server: ServerInfo;
    };
  };

  /** Ends a connection until mcp.connect or a restart; an unknown server is not an error. Role: admin. */
  "POST /mcp/{id}/disconnect": {
    request: { path: { id: string } };
    reply: {
      /** The server; null when there is none of this id. */
      server: ServerInfo | null;
    };
  };

  /** Lists the tools of connected servers that the policy lets the principal call. Role: viewer. */
  "GET /mcp/{id}/tools": {
    request: {
      path: { id: string };
      query?: {
        /** True: with the findings about each definition. */
        findings?: boolean;
      };
    };
    reply: {
      /** The tools. */
      tools: ToolInfo[];
      /** Servers whose tools are missing, and why. */
      failures: {
        /** Id of the MCP server. */
        server: ServerId;
        /** State of the connection. */
        status: ServerStatus;
        /** A description of the failure, for people. */
        error: string;
      }[];
      /** The text of the instructions. */
      instructions?: string;
    };
  };

  /** Lists the imported skills. Role: viewer. */
  "GET /skills": {
    request: {};
    reply: {
      /** The skills. */
      skills: SkillSummary[];
    };
  };

  /** Imports skills whose files the caller sends. Role: operator. */
  "POST /skills": {
    request: {
      body: {
        /** The sender's name for the source. */
        label: string;
        /** True: everything is checked, and nothing is changed or sent. */
        dryRun?: boolean;
        /** The git checkout that contained the files; null without one. */
        git?: {
          /** The URL. */
          url: string | null;
          /** The commit; null when it is not known. */
          commit: string | null;
        } | null;
        /** True: with the scanner's whole report. */
        withReports?: boolean;
        /** Joins the parts of one import; the first definition of a name counts. */
        importId?: string;
        /** Formats to check against; left out: all. */
        targets?: SkillTarget[];
        /** The skills with their files. */
        skills: SentSkill[];
      };
    };
    reply: {
      /** The numbers of files found, loaded and skipped. */
      counts: ImportCounts;
      /** One for each file, in the order in which they came. */
      skills: ImportedSkill[];
      /** Remarks about the file, with their lines. */
      diagnostics: Diagnostic[];
    };
  };

  /** Imports the skills in a zip or tar.gz that the caller sends. Role: operator. */
  "POST /skills/archive": {
    request:
      | {
          body: {
            /** The sender's name for the source. */
            label: string;
            /** True: everything is checked, and nothing is changed or sent. */
            dryRun?: boolean;
            /** The git checkout that contained the files; null without one. */
            git?: {
              /** The URL. */
              url: string | null;
              /** The commit; null when it is not known. */
              commit: string | null;
            } | null;
            /** True: with the scanner's whole report. */
            withReports?: boolean;
            /** Joins the parts of one import; the first definition of a name counts. */
            importId?: string;
            /** Formats to check against; left out: all. */
            targets?: SkillTarget[];
            /** Format of the archive. */
            format: "zip" | "tar.gz" | "tar";
            /** The bytes in base64. */
            base64?: string;
            /** Only these skills, by `file`; left out: all. */
            only?: string[];
          };
        }
      | {
          query: Omit<
            {
              /** The sender's name for the source. */
              label: string;
              /** True: everything is checked, and nothing is changed or sent. */
              dryRun?: boolean;
              /** The git checkout that contained the files; null without one. */
              git?: {
                /** The URL. */
                url: string | null;
                /** The commit; null when it is not known. */
                commit: string | null;
              } | null;
              /** True: with the scanner's whole report. */
              withReports?: boolean;
              /** Joins the parts of one import; the first definition of a name counts. */
              importId?: string;
              /** Formats to check against; left out: all. */
              targets?: SkillTarget[];
              /** Format of the archive. */
              format: "zip" | "tar.gz" | "tar";
              /** The bytes in base64. */
              base64?: string;
              /** Only these skills, by `file`; left out: all. */
              only?: string[];
            },
            "base64"
          >;
          attachment: Blob;
        };
    reply: {
      /** The numbers of files found, loaded and skipped. */
      counts: ImportCounts;
      /** One for each file, in the order in which they came. */
      skills: ImportedSkill[];
      /** Remarks about the file, with their lines. */
      diagnostics: Diagnostic[];
    };
  };

  /** Imports the skills and agents below a directory on one of the importer's allowed roots. Role: admin. */
  "POST /skills/import": {
    request: {
      body: {
        /** Directory, absolute or relative to the importer's first root. */
        directory: string;
        /** True: everything is checked, and nothing is changed or sent. */
        dryRun?: boolean;
      };
    };
    reply: {
      /** Counts of skill files. */
      skills: {
        /** Files that were found. */
        found: number;
        /** Files that were loaded. */
        loaded: number;
        /** Files that were skipped. */
        skipped: number;
        /** Loaded files whose YAML was repaired. */
        repaired?: number;
      };
      /** Counts of agent files. */
      agents: {
        /** Files that were found. */
        found: number;
        /** Files that were loaded. */
        loaded: number;
        /** Files that were skipped. */
        skipped: number;
      };
      /** Remarks about the file, with their lines. */
      diagnostics: Diagnostic[];
    };
  };

  /** Reads the skill files below a directory and checks them; nothing is stored. Role: admin. */
  "POST /skills/check": {
    request: {
      body: {
        /** Directory, absolute or relative to the importer's first root. */
        directory: string;
        /** Formats to check against; left out: all. */
        targets?: SkillTarget[];
        /** The number of entries to skip. */
        offset?: number;
        /** The most entries to return. */
        limit?: number;
      };
    };
    reply: {
      /** The files. */
      files: CheckedSkill[];
      /** The number of skill files below the directory. */
      total: number;
      /** Remarks about the file, with their lines. */
      diagnostics: Diagnostic[];
      /** `offset` of the next page; null when this is the last one. */
      nextOffset: number | null;
    };
  };

  /** Lists the skills and agents that are stored and wait for a person's trust. Role: viewer. */
  "GET /skills/withheld": {
    request: {};
    reply: {
      /** The withheld skills and agents. */
      withheld: {
        /** The kind: a skill or an agent. */
        kind: "skill" | "agent";
        /** Name of the skill or agent. */
        name: string;
        /** Description for people and models. */
        description: string;
        /** The withheld version. */
        version: Digest;
        /** The reason why it is not listed. */
        reason: WithheldReason;
        /** Root of the importer that has the file. */
        root: string;
        /** Path of the file, with `/`. */
        file: string;
      }[];
    };
  };

  /** Lists a withheld skill or agent; the trust holds for exactly this version from this source. Role: admin. */
  "POST /skills/trust": {
    request: {
      body: {
        /** The kind: a skill or an agent. */
        kind?: "skill" | "agent";
        /** Name of the skill or agent. */
        name: string;
        /** The version that was reviewed; another one is refused. */
        version: Digest;
        /** Why; needed for a version that the scanner blocks. */
        reason?: string;
      };
    };
    reply: {
      /** Name of the skill or agent. */
      name: string;
      /** The version that is trusted. */
      version: Digest;
      /** The reason why it was withheld. */
      was: WithheldReason;
    };
  };

  /** Returns the list of skills for a system prompt, cut to its budget, and what was cut. Role: viewer. */
  "GET /skills/catalogue": {
    request: {
      query?: {
        /** Tokens of the model's window; a hundredth of it is the budget. */
        contextWindow?: number;
        /** The most tokens of the list. */
        budgetTokens?: number;
        /** A description of the work: skills that fit it least are left out first. */
        about?: string;
        /** Skills to leave out. */
        without?: string[];
      };
    };
    reply: SkillCatalogue;
  };

  /** Finds the skills that fit a text, by BM25 over name, description and triggers. Role: viewer. */
  "GET /skills/matches": {
    request: {
      query: {
        /** A description of the work. */
        text: string;
        /** The most entries to return. */
        limit?: number;
        /** True: only skills that a model may activate. */
        modelInvocableOnly?: boolean;
      };
    };
    reply: {
      /** The skills that fit, best first. */
      matches: {
        /** Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -. */
        name: string;
        /** Description for people and models. */
        description: string;
        /** SHA-256 digest that names exactly this version. */
        digest: Digest;
        /** The score of the match; comparable within one reply only. */
        score: number;
        /** Words of the text that the skill has. */
        terms: string[];
      }[];
      /** The number of searched skills. */
      searched: number;
    };
  };

  /** Returns skills as a plugin registry shows them, with their slash commands. Role: viewer. */
  "GET /skills/manifests": {
    request: {
      query?: {
        /** Only this skill; left out: a page of all, by name. */
        name?: string;
        /** The source. */
        source?: "openclaw" | "agent-skills";
        /** The number of entries to skip. */
        offset?: number;
        /** The most entries to return. */
        limit?: number;
      };
    };
    reply: {
      /** The skills, by name. */
      skills: RegisteredSkill[];
      /** The number of entries without the limit of the page. */
      total: number;
      /** `offset` of the next page; null when this is the last one. */
      nextOffset: number | null;
    };
  };

  /** Returns one skill with its body. Role: viewer. */
  "GET /skills/{name}": {
    request: {
      path: { name: string };
      query?: {
        /** Digest of a SKILL.md; left out: the listed one. */
        digest?: Digest;
        /** A stored version; left out: the listed one. */
        version?: Digest;
      };
    };
    reply: {
      /** The skill. */
      skill: Skill;
      /** The material that a person reviews before trusting a version; present when `version` was given. */
      review?: VersionReview;
      /** Placeholders of the body. */
      variables?: string[];
      /** Results of the checks against other formats; present only when requested. */
      conformance?: Conformance[];
      /** Requirements of the skill; null when it declares none. */
      dependencies?: SkillDependencies | null;
    };
  };

  /** Removes an imported skill from the list; pinned runs can still read its versions. Role: admin. */
  "DELETE /skills/{name}": {
    request: { path: { name: string }; ifMatch?: string };
    reply: {
      /** Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -. */
      name: string;
      /** Version, for `ifVersion` or If-Match of a change. */
      version: Digest;
    };
  };

  /** Lists the stored versions of a skill, the newest first. Role: viewer. */
  "GET /skills/{name}/versions": {
    request: { path: { name: string } };
    reply: {
      /** The version that is listed; null when none is. */
      current: Digest | null;
      /** The reason why it is stored and not listed; null when it is listed. */
      withheld: {
        /** The withheld version. */
        version: Digest;
        /** Why, in words for people. */
        reason: WithheldReason;
      } | null;
      /** The versions, newest first. */
      versions: SkillVersion[];
    };
  };

  /** Compares two versions of a skill: text, files, capabilities and findings. Role: viewer. */
  "GET /skills/{name}/diff": {
    request: {
      path: { name: string };
      query?: {
        /** The older version; left out: the one before `to`. */
        from?: Digest;
        /** The newer version; left out: the newest. */
        to?: Digest;
      };
    };
    reply: {
      /** The older version. */
      from: Digest;
      /** The newer version. */
      to: Digest;
      /** Differences of the SKILL.md as lines with ` `, `-` or `+` before them. */
      text: string;
      /** Paths of the files that differ. */
      files: {
        /** The added parts. */
        added: string[];
        /** The removed parts. */
        removed: string[];
        /** The changed parts. */
        changed: string[];
      };
      /** Changes of what the skill uses, such as `bin curl`. */
      capabilities: Changes;
      /** Changes of the findings, as `code file`. */
      findings: Changes;
    };
  };

  /** Reads a file of a skill's version, or a part of it. Role: viewer. */
  "GET /skills/{name}/file": {
    request: {
      path: { name: string };
      query: {
        /** A version or the digest of its SKILL.md; left out: the current one. */
        version?: Digest;
        /** Path relative to the directory, with `/`. */
        path: PromptName;
        /** First byte to read. */
        offset?: number;
        /** The most bytes to read. */
        limit?: number;
      };
    };
    reply: {
      /** Version, for `ifVersion` or If-Match of a change. */
      version: Digest;
      /** Path relative to the directory, with `/`. */
      path: string;
      /** Size in bytes. */
      sizeBytes: number;
      /** Digest of the file. */
      digest: Digest;
      /** The bytes in base64. */
      base64: string;
      /** `offset` of the next part; null at the end. */
      nextOffset: number | null;
    };
  };

  /** Renders a skill for a prompt: substitutions done, size cut, wrapped. Role: viewer. */
  "GET /skills/{name}/instructions": {
    request: {
      path: { name: string };
      query?: {
        /** SHA-256 digest that names exactly this version. */
        digest?: Digest;
        /** The argument line as typed. */
        arguments?: string;
        /** Id of the session; a reset gives the session another one. */
        sessionId?: RunId;
        /** Arguments as the model writes them, in place of `with`. */
        raw?: boolean;
      };
    };
    reply: {
      /** Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -. */
      name: string;
      /** Digest of all files of the rendered version. */
      digest: Digest;
      /** The text for a prompt. */
      text: string;
      /** Tool patterns that the skill restricts itself to; null: no restriction. */
      allowedTools: string[] | null;
      /** Patterns of tools that a run with the skill never calls. */
      disallowedTools?: string[];
      /** Plan for the scripted provider, which is not AI; null without one. */
      plan: Plan | null;
      /** Remarks that change nothing. */
      warnings: string[];
    };
  };

  /** Makes an older version of an imported skill the current one. Role: admin. */
  "POST /skills/{name}/rollback": {
    request: {
      path: { name: string };
      body?: {
        /** The version to list again. */
        version?: Digest;
      };
      ifMatch?: string;
    };
    reply: {
      /** Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -. */
      name: string;
      /** Version, for `ifVersion` or If-Match of a change. */
      version: Digest;
      /** The version that was listed before; null when none was. */
      before: Digest | null;
    };
  };

  /** Lists the imported skills. Role: viewer. */
  "GET /openclaw/skills": {
    request: {};
    reply: {
      /** The skills. */
      skills: SkillSummary[];
    };
  };

  /** Imports the skills and agents below a directory on one of the importer's allowed roots. Role: admin. */
  "POST /openclaw/import": {
    request: {
      body: {
        /** Directory, absolute or relative to the importer's first root. */
        path: string;
        /** True: everything is checked, and nothing is changed or sent. */
        dryRun?: boolean;
      };
    };
    reply: {
      /** Counts of skill files. */
      skills: {
        /** Files that were found. */
        found: number;
        /** Files that were loaded. */
        loaded: number;
        /** Files that were skipped. */
        skipped: number;
        /** Loaded files whose YAML was repaired. */
        repaired?: number;
      };
      /** Counts of agent files. */
      agents: {
        /** Files that were found. */
        found: number;
        /** Files that were loaded. */
        loaded: number;
        /** Files that were skipped. */
        skipped: number;
      };
      /** Remarks about the file, with their lines. */
      diagnostics: Diagnostic[];
    };
  };

  /** Imports the skills and agents below a directory on one of the importer's allowed roots. Role: admin. */
  "POST /openclaw/import-directory": {
    request: {
      body: {
        /** Directory, absolute or relative to the importer's first root. */
        dirPath: string;
        /** True: everything is checked, and nothing is changed or sent. */
        dryRun?: boolean;
      };
    };
    reply: {
      /** Counts of skill files. */
      skills: {
        /** Files that were found. */
        found: number;
        /** Files that were loaded. */
        loaded: number;
        /** Files that were skipped. */
        skipped: number;
        /** Loaded files whose YAML was repaired. */
        repaired?: number;
      };
      /** Counts of agent files. */
      agents: {
        /** Files that were found. */
        found: number;
        /** Files that were loaded. */
        loaded: number;
        /** Files that were skipped. */
        skipped: number;
      };
      /** Remarks about the file, with their lines. */
      diagnostics: Diagnostic[];
    };
  };

  /** Renders a skill for a prompt: substitutions done, size cut, wrapped. Role: viewer. */
  "GET /openclaw/skills/{id}/instructions": {
    request: {
      path: { id: string };
      query?: {
        /** SHA-256 digest that names exactly this version. */
        digest?: Digest;
        /** The argument line as typed. */
        arguments?: string;
        /** Id of the session; a reset gives the session another one. */
        sessionId?: RunId;
        /** Arguments as the model writes them, in place of `with`. */
        raw?: boolean;
      };
    };
    reply: {
      /** Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -. */
      name: string;
      /** Digest of all files of the rendered version. */
      digest: Digest;
      /** The text for a prompt. */
      text: string;
      /** Tool patterns that the skill restricts itself to; null: no restriction. */
      allowedTools: string[] | null;
      /** Patterns of tools that a run with the skill never calls. */
      disallowedTools?: string[];
      /** Plan for the scripted provider, which is not AI; null without one. */
      plan: Plan | null;
      /** Remarks that change nothing. */
      warnings: string[];
    };
  };

  /** Removes an imported skill from the list; pinned runs can still read its versions. Role: admin. */
  "DELETE /openclaw/skills/{id}": {
    request: { path: { id: string }; ifMatch?: string };
    reply: {
      /** Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -. */
      name: string;
      /** Version, for `ifVersion` or If-Match of a change. */
      version: Digest;
    };
  };

  /** Lists the agent definitions. Role: viewer. */
  "GET /agents": {
    request: {};
    reply: {
      /** The agents. */
      agents: AgentSummary[];
      /** The errors that keep agent files of the importer's directories from loading; left out when all load. */
      unusable?: {
        /** Stable snake_case code of the problem. */
        code: string;
        /** A description of the event, for people. */
        message: string;
        /** Path of the file, with `/`. */
        file: string;
        /** Line in the file, from 1; null when it is about the whole file. */
        line: number | null;
      }[];
    };
  };

  /** Imports agents whose files the caller sends. Role: operator. */
  "POST /agents": {
    request: {
      body: {
        /** The sender's name for the source. */
        label: string;
        /** True: everything is checked, and nothing is changed or sent. */
        dryRun?: boolean;
        /** The git checkout that contained the files; null without one. */
        git?: {
          /** The URL. */
          url: string | null;
          /** The commit; null when it is not known. */
          commit: string | null;
        } | null;
        /** True: with the scanner's whole report. */
        withReports?: boolean;
        /** Joins the parts of one import; the first definition of a name counts. */
        importId?: string;
        /** Agent files in Markdown. */
        files: SentFile[];
      };
    };
    reply: {
      /** The numbers of files found, loaded and skipped. */
      counts: AgentImportCounts;
      /** One for each file, in the order in which they came. */
      agents: ImportedAgent[];
      /** Remarks about the file, with their lines. */
      diagnostics: Diagnostic[];
    };
  };

  /** Imports the agents in a zip or tar.gz that the caller sends. Role: operator. */
  "POST /agents/archive": {
    request:
      | {
          body: {
            /** The sender's name for the source. */
            label: string;
            /** True: everything is checked, and nothing is changed or sent. */
            dryRun?: boolean;
            /** The git checkout that contained the files; null without one. */
            git?: {
              /** The URL. */
              url: string | null;
              /** The commit; null when it is not known. */
              commit: string | null;
            } | null;
            /** True: with the scanner's whole report. */
            withReports?: boolean;
            /** Joins the parts of one import; the first definition of a name counts. */
            importId?: string;
            /** Format of the archive. */
            format: "zip" | "tar.gz" | "tar";
            /** The bytes in base64. */
            base64?: string;
          };
        }
      | {
          query: Omit<
            {
              /** The sender's name for the source. */
              label: string;
              /** True: everything is checked, and nothing is changed or sent. */
              dryRun?: boolean;
              /** The git checkout that contained the files; null without one. */
              git?: {
                /** The URL. */
                url: string | null;
                /** The commit; null when it is not known. */
                commit: string | null;
              } | null;
              /** True: with the scanner's whole report. */
              withReports?: boolean;
              /** Joins the parts of one import; the first definition of a name counts. */
              importId?: string;
              /** Format of the archive. */
              format: "zip" | "tar.gz" | "tar";
              /** The bytes in base64. */
              base64?: string;
            },
            "base64"
          >;
          attachment: Blob;
        };
    reply: {
      /** The numbers of files found, loaded and skipped. */
      counts: AgentImportCounts;
      /** One for each file, in the order in which they came. */
      agents: ImportedAgent[];
      /** Remarks about the file, with their lines. */
      diagnostics: Diagnostic[];
    };
  };

  /** Reads agent files that the caller sends and checks them; nothing is stored. Role: operator. */
  "POST /agents/check": {
    request: {
      body: {
        /** Agent files in Markdown. */
        files: {
          /** Path with `/`; its last parts determine format and fallback name. */
          file: string;
          /** The text of the file. */
          text: string;
        }[];
      };
    };
    reply: {
      /** One for each file, in the order of the request. */
      files: {
        /** Path of the file, with `/`. */
        file: string;
        /** `not_an_agent`: Markdown without frontmatter, such as a README. */
        verdict: "loads" | "skipped" | "not_an_agent";
        /** The definition; null when the file does not load. */
        agent: AgentDefinition | null;
        /** Remarks about the file, with their lines. */
        diagnostics: Diagnostic[];
      }[];
    };
  };

  /** Returns one agent definition, by name or by the digest a run is pinned to. Role: viewer. */
  "GET /agents/{name}": {
    request: {
      path: { name: string };
      query?: {
        /** Digest of the agent's file; left out: the listed one. */
        digest?: Digest;
        /** A stored version; left out: the listed one. */
        version?: Digest;
      };
    };
    reply: {
      /** The agent. */
      agent: AgentDefinition;
      /** The material that a person reviews before trusting a version; present when `version` was given. */
      review?: VersionReview;
      /** The origin of the version. */
      provenance?: Provenance;
      /** The time for which the reply may be reused, in milliseconds from before the request. */
      keepForMs?: KeepForMs;
    };
  };

  /** Removes an imported agent from the list; pinned runs can still read its versions. Role: admin. */
  "DELETE /agents/{name}": {
    request: { path: { name: string }; ifMatch?: string };
    reply: {
      /** Name of an agent: 1-64 characters of A-Z a-z 0-9 _ -. */
      name: string;
      /** SHA-256 digest that names exactly this version. */
      digest: Digest;
      /** The version that has the name now, such as a built-in agent; null: none. */
      current: Digest | null;
    };
  };

  /** Lists the stored versions of an agent, the newest first; one that is built in has none. Role: viewer. */
  "GET /agents/{name}/versions": {
    request: { path: { name: string } };
    reply: {
      /** The version that is listed; null when none is. */
      current: Digest | null;
      /** The reason why it is stored and not listed; null when it is listed. */
      withheld: {
        /** The withheld version. */
        digest: Digest;
        /** Why, in words for people. */
        reason: WithheldReason;
      } | null;
      /** The versions, newest first. */
      versions: AgentVersion[];
    };
  };

  /** Compares two versions of an agent: text, capabilities and findings. Role: viewer. */
  "GET /agents/{name}/diff": {
    request: {
      path: { name: string };
      query?: {
        /** The older version; left out: the one before `to`. */
        from?: Digest;
        /** The newer version; left out: the newest. */
        to?: Digest;
      };
    };
    reply: {
      /** The older version. */
      from: Digest;
      /** The newer version. */
      to: Digest;
      /** Differences of the parsed definitions as lines with ` `, `-` or `+` before them. */
      text: string;
      /** Changes of what the agent may do, such as `tool read_file`. */
      capabilities: Changes;
      /** Changes of the findings, as `code file`. */
      findings: Changes;
    };
  };

  /** Lists what an agent stored in its memory for the caller. Role: viewer. */
  "GET /agents/{name}/memories": {
    request: {
      path: { name: string };
      query?: {
        /** A part of the key, the label or the title, in any case. */
        search?: string;
      };
    };
    reply: {
      /** The memories, by name. */
      memories: {
        /** Name of the memory. */
        name: string;
        /** Size in bytes. */
        bytes: number;
        /** The beginning of the text, at most 1 KiB. */
        preview: string;
      }[];
    };
  };

  /** Makes an older version of an imported agent the current one. Role: admin. */
  "POST /agents/{name}/rollback": {
    request: {
      path: { name: string };
      body?: {
        /** The version to list again. */
        digest?: Digest;
      };
      ifMatch?: string;
    };
    reply: {
      /** Name of an agent: 1-64 characters of A-Z a-z 0-9 _ -. */
      name: string;
      /** SHA-256 digest that names exactly this version. */
      digest: Digest;
      /** The version that was listed before; null when none was. */
      before: Digest | null;
    };
  };

  /** Shows rule by rule how the policy decides about a tool call; it permits nothing. Role: viewer. */
  "POST /policy/explain": {
    request: {
      body: {
        /** The NATS user that it is about. */
        user: string;
        /** The agent; left out: the user calls the tool without one. */
        agent?: string;
        /** The roles, each once. */
        roles?: string[];
        /** The origin of the run. */
        context?: RunContext;
        /** The least approval that each call needs from people. */
        approval?: ApprovalTier;
        /** Tool patterns of the run's token, such as the agent's `tools`. */
        toolLayers?: string[][];
        /** Facts about the tool's server; left out: those that its provider sent last. */
        server?: ServerFacts;
        /** A run whose counts and labels are shown. */
        runId?: RunId;
        /** The tool: its canonical name, its server and its name there. */
        tool: ToolRef;
        /** Arguments to explain the decision with. */
        args: { [name: string]: unknown };
      };
    };
    reply: {
      /** The policy's decision. */
      decision: Decision;
      /** For whom the policy decides: a user, or a run of a user. */
      principal: Principal;
      /** The tool: its canonical name, its server and its name there. */
      tool: ToolRef;
      /** Labels of the tool: of its server and of the bundle. */
      labels?: string[];
      /** Everything beside the rules that limits this call. */
      limits?: ConsideredLimit[];
      /** The rules, matching ones first. */
      considered: ConsideredRule[];
      /** Rules that are not in `considered`. */
      omitted: number;
      /** For a denial: the allow rule that needs the fewest changes. */
      nearest: {
        /** Id of the rule. */
        rule: string;
        /** The parts that do not fit. */
        failed: RuleMismatch[];
      } | null;
    };
  };

  /** Checks a policy text, runs its tests and lints it; changes nothing. Role: viewer. */
  "POST /policy/validate": {
    request: {
      body?: {
        /** YAML of the rules to check; left out: those in force. */
        bundleText?: string;
        /** YAML of the tests; left out: those in force. */
        testsText?: string;
        /** Files of a bundle with its tests, in place of the two texts. */
        files?: PolicyFiles;
      };
    };
    reply: {
      /** True when the bundle could come into force: no problem, and no test fails. */
      valid: boolean;
      /** Digest of the checked bundle; null when it has problems. */
      policyDigest: Digest | null;
      /** The number of rules in the bundle. */
      rules: number;
      /** The problems: the path of each value, and its problem. */
      problems: PolicyProblem[];
      /** Results of the tests. */
      tests: PolicyTestResult[];
      /** Rules that are valid and most likely not meant. */
      findings: LintFinding[];
    };
  };

  /** Evaluates a policy text on recorded decisions; changes nothing. Role: admin. */
  "POST /policy/replay": {
    request: {
      body: {
        /** Files of a bundle; left out: the rules in force. */
        files?: PolicyFiles;
        /** Recorded decisions to evaluate again. */
        decisions: RecordedDecisionInput[];
      };
    };
    reply: {
      /** Digest of the replayed bundle; null when it has problems. */
      policyDigest: Digest | null;
      /** The problems: the path of each value, and its problem. */
      problems: PolicyProblem[];
      /** Results in the order of the request; null when the text has problems. */
      results: ReplayedDecision[];
    };
  };

  /** Returns who may call a tool: principals, rules that allow it, and exceptions. Role: viewer. */
  "POST /policy/who-can": {
    request: {
      body: {
        /** The tool: its canonical name, its server and its name there. */
        tool: ToolRef;
        /** Labels of the tool's server. */
        labels?: string[];
      };
    };
    reply: {
      /** The tool: its canonical name, its server and its name there. */
      tool: ToolRef;
      /** Digest of the rules in force. */
      policyDigest: Digest;
      /** The principals that can call the tool; empty when none can. */
      reach: ToolReach[];
      /** Deny rules that no principal escapes. */
      deniedBy: string[];
      /** The number of entries not listed. */
      omitted: number;
    };
  };

  /** Lists the rules in force in words, in the order of their ids. Role: viewer. */
  "GET /policy/rules": {
    request: {
      query?: {
        /** Returns the rules behind the rule of this id. */
        after?: string;
        /** The most entries to return. */
        limit?: number;
      };
    };
    reply: {
      /** Digest of the rules in force. */
      policyDigest: Digest;
      /** The rules, by id. */
      rules: PolicyRule[];
      /** The rules about results, in the first page alone. */
      results?: PolicyResultRule[];
      /** `cursor` of the next page; null when this is the last one. */
      next: string | null;
    };
  };

  /** Lists the bundles that were in force, the newest first. Role: viewer. */
  "GET /policy/versions": {
    request: {};
    reply: {
      /** Digest of the rules in force. */
      policyDigest: Digest;
      /** True while the files on disk are followed. */
      followsFiles: boolean;
      /** The reason why the files on disk cannot come into force; null when they can. */
      filesRefused?: string[] | null;
      /** The versions, newest first. */
      versions: PolicyVersion[];
    };
  };

  /** Returns the files of the rules in force and of their tests; for policy admins. Role: admin. */
  "GET /policy/texts": {
    request: {};
    reply: {
      /** Number of the newest version; 0 when none is stored. */
      version: number;
      /** Digest of the rules in force. */
      policyDigest: Digest;
      /** Files of the rules in force and of their tests. */
      files: PolicyFiles;
    };
  };

  /** Checks a bundle with its tests and brings it into force on every replica; for policy admins. Role: admin. */
  "POST /policy/activate": {
    request: {
      body?: {
        /** Files of the bundle with its tests. Give exactly one of `files`, `version`, `followFiles`. */
        files?: PolicyFiles;
        /** A version that was in force before. */
        version?: number;
        /** True: the files on disk, and every change of them. */
        followFiles?: true;
        /** A remark for people, one line. */
        note?: string;
      };
      ifMatch?: string;
    };
    reply: {
      /** The version in force. */
      active: PolicyVersion;
      /** The version that was in force before; null when there was none. */
      previous: PolicyVersion | null;
    };
  };

  /** Activates the bundle that was in force before the current one; for policy admins. Role: admin. */
  "POST /policy/rollback": {
    request: {
      body?: {
        /** A remark for people, one line. */
        note?: string;
      };
      ifMatch?: string;
    };
    reply: {
      /** The version in force. */
      active: PolicyVersion;
      /** The version that was in force before; null when there was none. */
      previous: PolicyVersion | null;
    };
  };

  /** Lists the stops: all for services and policy admins, for others those that could stop their own calls. Role: viewer. */
  "GET /policy/stops": {
    request: {};
    reply: {
      /** The stops in force. */
      stops: Stop[];
    };
  };

  /** Denies every call of an agent, run, user or server, or all calls, within a second; for policy admins. Role: admin. */
  "POST /policy/stops": {
    request: {
      body: {
        /** The scope. */
        scope: StopScope;
        /** Why, in words for people. */
        reason: string;
      };
    };
    reply: {
      /** The stop that is in force now. */
      stop: Stop;
    };
  };

  /** Ends a stop; for policy admins. Role: admin. */
  "POST /policy/stops/resume": {
    request: {
      body: {
        /** The scope. */
        scope: StopScope;
      };
    };
    reply: {
      /** False when nothing was stopped. */
      resumed: boolean;
    };
  };

  /** Lists the keys of run tokens as the replica that answers has them, the newest first. Role: viewer. */
  "GET /policy/token-keys": {
    request: {};
    reply: {
      /** The keys. */
      keys: {
        /** Id of the key that signed. */
        kid: string;
        /** `signs` now, signs `next`, or is still `accepted`. */
        use: TokenKeyUse;
        /** True when the key is revoked. */
        revoked: boolean;
      }[];
      /** Public halves of the keys as JWK members (RFC 8037). */
      publicKeys?: {
        /** Id of the key that signed. */
        kid: string;
        /** The public key in base64url (RFC 8037). */
        x: string;
      }[];
    };
  };

  /** Reads records of the audit, for policy admins. Role: admin. */
  "GET /audit": {
    request: {
      query?: {
        /** Only what happened at this time or later. */
        since?: Timestamp;
        /** Only what happened before this time. */
        until?: Timestamp;
        /** Kind of the records, such as `decision` or `execution`. */
        kind?: string;
        /** The NATS user that it is about. */
        user?: string;
        /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
        runId?: RunId;
        /** A part of the tool's name. */
        tool?: string;
        /** False: without the reads of admins that succeeded, such as those of the console's own pages, and without seals unless `kind` is `seal`. */
        reads?: boolean;
        /** The order of the entries. */
        order?: "newest" | "oldest";
        /** `next` of the page before; left out: the first page. */
        cursor?: string;
        /** The most entries to return. */
        limit?: number;
      };
    };
    reply: {
      /** The records. */
      records: AuditedRecord[];
      /** `cursor` of the next page; null when there are no more records. */
      cursor: string | null;
    };
  };

  /** Checks that nothing of the audit is missing or changed, and that every call was allowed. Role: admin. */
  "GET /audit/verify": {
    request: {
      query?: {
        /** Begin of the check; left out: the oldest record. */
        since?: Timestamp;
      };
    };
    reply: {
      /** True when nothing is missing or changed, and every call was allowed. */
      isIntact: boolean;
      /** The number of checked records. */
      records: number;
      /** The number of chains. */
      chains: number;
      /** The number of calls. */
      executions: number;
      /** The number of calls with the decision that allowed them. */
      proven: number;
      /** The number of records covered by a signature of the policy service. */
      sealed?: number;
      /** The problems: the path of each value, and its problem. */
      problems: string[];
    };
  };

  /** Lists the API keys without their secrets; for policy admins. Role: admin. */
  "GET /keys": {
    request: {};
    reply: {
      /** The keys. */
      keys: UserKey[];
    };
  };

  /** Creates an API key for a person or program; for policy admins. Role: admin. */
  "POST /keys": {
    request: {
      body: {
        /** The NATS user that a credential or a subject stands for. */
        caller: string;
        /** The roles, each once. */
        roles: UserRoles;
        /** Names or patterns of the permitted operations; missing means all that the roles allow. */
        scopes?: UserScopes;
        /** A remark for people, one line. */
        note?: string;
        /** Lifetime in seconds; left out: until it is revoked. */
        ttlSeconds?: number;
      };
    };
    reply: {
      /** The API key. It is shown here and never again. */
      key: string;
      /** The facts about it, without secrets. */
      info: UserKey;
    };
  };

  /** Creates a key with the rights of another one, which ends after the overlap. Role: admin. */
  "POST /keys/{id}/rotate": {
    request: {
      path: { id: string };
      body?: {
        /** The time for which the old key stays valid, in seconds. */
        overlapSeconds?: number;
        /** Lifetime of the new key in seconds; left out: until it is revoked. */
        ttlSeconds?: number;
      };
    };
    reply: {
      /** The API key. It is shown here and never again. */
      key: string;
      /** The facts about it, without secrets. */
      info: UserKey;
    };
  };

  /** Ends an API key at once; for policy admins. Role: admin. */
  "DELETE /keys/{id}": {
    request: { path: { id: string } };
    reply: {
      /** The facts about it, without secrets. */
      info: UserKey;
    };
  };

  /** Lists the caller's browser sessions; for policy admins those of any user. Role: viewer. */
  "GET /user-sessions": {
    request: {
      query?: {
        /** The NATS user that it is about. */
        user?: string;
      };
    };
    reply: {
      /** The sessions. */
      sessions: UserSession[];
    };
  };

  /** Ends a browser session of the caller at once; for policy admins one of any user. Role: viewer. */
  "DELETE /user-sessions/{id}": {
    request: { path: { id: string } };
    reply: {
      /** The facts about it, without secrets. */
      info: UserSession;
    };
  };

  /** Lists the caller's webhooks. Role: viewer. */
  "GET /webhooks": {
    request: {};
    reply: {
      /** The webhooks of the caller. */
      webhooks: {
        /** Id of the webhook: `whk-` and 16 hexadecimal digits. */
        id: string;
        /** The URL that events are sent to. */
        url: string;
        /** Names or patterns of events, such as `run.finished` or `run.*`. */
        events: string[];
        /** Only events of runs of this agent; null: of all. */
        agent: string | null;
        /** When it was created. */
        createdAt: Timestamp;
        /** `disabled`: nothing is sent; a redelivery enables it. */
        status: "enabled" | "disabled";
        /** The reason why it is disabled; null while it is enabled. */
        reason: "failing" | "backlog" | "gone" | null;
        /** Since when no delivery has succeeded; null: the last one did. */
        failingSince: SearchedFrom;
        /** The last failure; null when the last attempt succeeded. */
        lastError: string | null;
        /** Version, for `ifVersion` or If-Match of a change. */
        version: string;
      }[];
    };
  };

  /** Sends the caller's own events to a URL, signed as a Standard Webhook; only this reply has the secret. Role: operator. */
  "POST /webhooks": {
    request: {
      body: {
        /** The URL that events are sent to: http or https. */
        url: string;
        /** Names or patterns of events, such as `run.finished` or `run.*`. */
        events: string[];
        /** Only events of runs of this agent. */
        agent?: string;
      };
    };
    reply: {
      /** The webhook. */
      webhook: {
        /** Id of the webhook: `whk-` and 16 hexadecimal digits. */
        id: string;
        /** The URL that events are sent to. */
        url: string;
        /** Names or patterns of events, such as `run.finished` or `run.*`. */
        events: string[];
        /** Only events of runs of this agent; null: of all. */
        agent: string | null;
        /** When it was created. */
        createdAt: Timestamp;
        /** `disabled`: nothing is sent; a redelivery enables it. */
        status: "enabled" | "disabled";
        /** The reason why it is disabled; null while it is enabled. */
        reason: "failing" | "backlog" | "gone" | null;
        /** Since when no delivery has succeeded; null: the last one did. */
        failingSince: SearchedFrom;
        /** The last failure; null when the last attempt succeeded. */
        lastError: string | null;
        /** Version, for `ifVersion` or If-Match of a change. */
        version: string;
      };
      /** Secret for checking signatures. It is shown here and never again. */
      secret: string;
    };
  };

  /** Returns one webhook of the caller, with its pending and its failed deliveries. Role: viewer. */
  "GET /webhooks/{id}": {
    request: { path: { id: string } };
    reply: {
      /** The webhook. */
      webhook: {
        /** Id of the webhook: `whk-` and 16 hexadecimal digits. */
        id: string;
        /** The URL that events are sent to. */
        url: string;
        /** Names or patterns of events, such as `run.finished` or `run.*`. */
        events: string[];
        /** Only events of runs of this agent; null: of all. */
        agent: string | null;
        /** When it was created. */
        createdAt: Timestamp;
        /** `disabled`: nothing is sent; a redelivery enables it. */
        status: "enabled" | "disabled";
        /** The reason why it is disabled; null while it is enabled. */
        reason: "failing" | "backlog" | "gone" | null;
        /** Since when no delivery has succeeded; null: the last one did. */
        failingSince: SearchedFrom;
        /** The last failure; null when the last attempt succeeded. */
        lastError: string | null;
        /** Version, for `ifVersion` or If-Match of a change. */
        version: string;
      };
      /** Deliveries that wait for their first or next attempt. */
      pending: number;
      /** Deliveries that were given up, newest first. */
      dead: {
        /** The `webhook-id` that the receiver got; left out in a request: all. */
        deliveryId: string;
        /** Name of the event. */
        event: string;
        /** When it happened. */
        at: Timestamp;
        /** The number of attempts. */
        attempts: number;
        /** A description of the failure, for people. */
        error: string;
      }[];
    };
  };

  /** Changes the URL or the events of a webhook. Its secret stays, and pending deliveries go to the new URL. Role: operator. */
  "PATCH /webhooks/{id}": {
    request: {
      path: { id: string };
      body?: {
        /** The URL that events are sent to: http or https. */
        url?: string;
        /** Names or patterns of events, such as `run.finished` or `run.*`. */
        events?: string[];
        /** Only events of runs of this agent; null: of all. */
        agent?: string | null;
      };
      ifMatch?: string;
    };
    reply: {
      /** The webhook. */
      webhook: {
        /** Id of the webhook: `whk-` and 16 hexadecimal digits. */
        id: string;
        /** The URL that events are sent to. */
        url: string;
        /** Names or patterns of events, such as `run.finished` or `run.*`. */
        events: string[];
        /** Only events of runs of this agent; null: of all. */
        agent: string | null;
        /** When it was created. */
        createdAt: Timestamp;
        /** `disabled`: nothing is sent; a redelivery enables it. */
        status: "enabled" | "disabled";
        /** The reason why it is disabled; null while it is enabled. */
        reason: "failing" | "backlog" | "gone" | null;
        /** Since when no delivery has succeeded; null: the last one did. */
        failingSince: SearchedFrom;
        /** The last failure; null when the last attempt succeeded. */
        lastError: string | null;
        /** Version, for `ifVersion` or If-Match of a change. */
        version: string;
      };
    };
  };

  /** Removes a webhook of the caller with its pending deliveries. Role: operator. */
  "DELETE /webhooks/{id}": {
    request: { path: { id: string } };
    reply: {
      /** Id of the webhook. */
      id: string;
      /** Always true. */
      removed: true;
    };
  };

  /** Sends failed deliveries again, one or all, and enables the webhook. Role: operator. */
  "POST /webhooks/{id}/redeliver": {
    request: {
      path: { id: string };
      body?: {
        /** The `webhook-id` that the receiver got; left out in a request: all. */
        deliveryId?: string;
      };
    };
    reply: {
      /** The webhook. */
      webhook: {
        /** Id of the webhook: `whk-` and 16 hexadecimal digits. */
        id: string;
        /** The URL that events are sent to. */
        url: string;
        /** Names or patterns of events, such as `run.finished` or `run.*`. */
        events: string[];
        /** Only events of runs of this agent; null: of all. */
        agent: string | null;
        /** When it was created. */
        createdAt: Timestamp;
        /** `disabled`: nothing is sent; a redelivery enables it. */
        status: "enabled" | "disabled";
        /** The reason why it is disabled; null while it is enabled. */
        reason: "failing" | "backlog" | "gone" | null;
        /** Since when no delivery has succeeded; null: the last one did. */
        failingSince: SearchedFrom;
        /** The last failure; null when the last attempt succeeded. */
        lastError: string | null;
        /** Version, for `ifVersion` or If-Match of a change. */
        version: string;
      };
      /** The number of deliveries that are sent again. */
      redelivered: number;
    };
  };

  /** Lists the hooks of hooks.json, by which programs elsewhere start runs. Role: admin. */
  "GET /hooks": {
    request: {};
    reply: {
      /** The hooks. */
      hooks: {
        /** Name of the hook, the last part of its address. */
        name: string;
        /** Name of the agent. */
        agent: string;
        /** The signature scheme of requests. */
        signature: "standard" | "github";
        /** Events that start a run; null: all. */
        events: string[] | null;
      }[];
    };
  };

  /** Returns the key with which a browser subscribes to web push; null where there is none. Role: viewer. */
  "GET /push": {
    request: {};
    reply: {
      /** The key with which a browser subscribes, in base64url; null: there is no web push here. */
      publicKey: string | null;
    };
  };

  /** Notifies the browser of this session by web push, until the session ends. Role: viewer. */
  "PUT /push": {
    request: {
      body: {
        /** The browser's address at the push service of its maker. */
        endpoint: string;
        /** The keys of the browser's subscription. */
        keys: {
          /** The browser's public key, a point of P-256 in base64url. */
          p256dh: string;
          /** The browser's authentication secret in base64url. */
          auth: string;
        };
        /** The key with which the browser subscribed, of `GET /push`. */
        publicKey: string;
      };
    };
    reply: {
      /** Always true. */
      isOn: true;
    };
  };

  /** Notifies the browser of this session no more. Role: viewer. */
  "DELETE /push": {
    request: {};
    reply: {
      /** Always false. */
      isOn: false;
    };
  };

  /** Lists the configured model providers and the default model. Role: viewer. */
  "GET /models": {
    request: {};
    reply: {
      /** The model of agents that name none. */
      default: ModelName;
      /** The providers of models. */
      providers: ModelProvider[];
    };
  };
}

/** The events of a run by name. `delta` is live text; a stored event has the whole text later. */

export interface RunEvents {
  rejected: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Subject that the message was published on. */
    subject: string;
    /** The user that sent the command. */
    caller: string;
    /** Stable snake_case code, such as `unknown_agent` or `run_id_taken`. */
    code: string;
    /** A description of the event, for people. */
    message: string;
    /** The problems: the path of each value, and its problem. */
    problems: string[];
    /** Position of the command in its stream; 0 for a request that was no command. */
    streamSequence: number;
    /** JetStream's deduplication id; null without one. */
    messageId: string | null;
    /** When it happened. */
    at: Timestamp;
  };

  queued: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** When it happened. */
    at: Timestamp;
    /** Id of the session; a reset gives the session another one. */
    sessionId: SessionId;
    /** Key of the session, unique among those of its owner. */
    sessionKey: string;
    /** Position in the queue, from 1. */
    position: number;
  };

  delayed: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** When it happened. */
    at: Timestamp;
    /** The failed step, such as the request without a reply. */
    reason: string;
  };

  merged: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** When it happened. */
    at: Timestamp;
    /** Id of the session; a reset gives the session another one. */
    sessionId: SessionId;
    /** Key of the session, unique among those of its owner. */
    sessionKey: string;
    /** The run that answers the message. */
    into: RunId;
  };

  started: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** Name of the agent. */
    agent: string;
    /** Digest of the agent's version; null until a runner has begun the run. */
    agentDigest: Digest;
    /** Digest of the rules in force. */
    policyDigest?: Digest;
    /** The NATS user whose command started the run. */
    requester: string;
    /** The model, as `provider/model`. */
    model: ModelName;
    /** Labels that the command gave the run. */
    labels: { [name: string]: string };
    /** The run that this one works for, and its call. */
    parent?: {
      /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
      runId: RunId;
      /** Id of the tool call. A call that is repeated under its id returns the stored result. */
      callId: string;
    };
    /** The run and the step that this one was copied from. */
    forkedFrom?: {
      /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
      runId: RunId;
      /** The first model call that is made anew, from 1. */
      fromStep: number;
    };
    /** True when the result is the stored one of an earlier request with the same id. */
    replayed?: boolean;
    /** The conversation that the run belongs to. */
    session?: {
      /** Id of the session; a reset gives the session another one. */
      sessionId: SessionId;
      /** Key of the session. */
      key: string;
    };
  };

  resumed: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** The number of times a runner picked the run up, from 1. */
    attempt: number;
    /** The number of journal entries that the runner read. */
    journalEntries: number;
  };

  "tools-unavailable": {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** All unavailable servers; empty when there are none any more. */
    servers: UnavailableServer[];
  };

  "skill-activated": {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** Name of the skill. */
    skill: string;
    /** SHA-256 digest that names exactly this version. */
    digest: Digest;
  };

  "model-responded": {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** Number of the model call, from 1. */
    step: number;
    /** The model that was called. */
    model: ModelName;
    /** The model's text, cut to 16 KiB. */
    text: string;
    /** Tool calls that the model requested in this step. */
    toolCalls: number;
    /** Tokens of the model calls. */
    usage: Usage;
    /** The duration, in milliseconds. */
    durationMs: number;
    /** Cost of the model calls in US dollars; null when the price of a model is unknown. */
    costUsd?: number | null;
    /** Models of higher preference that could not answer; missing: none. */
    passedOver?: {
      /** The model, as `provider/model`. */
      model: ModelName;
      /** The reason why it could not answer. */
      message: string;
    }[];
  };

  "tool-requested": {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** Number of the model call, from 1. */
    step: number;
    /** Id of the tool call. A call that is repeated under its id returns the stored result. */
    callId: string;
    /** Name of the tool. */
    tool: string;
    /** JSON of the arguments with secrets masked, cut to 1 KiB. */
    argsPreview: string;
    /** Digest of the arguments as canonical JSON. */
    argsDigest: Digest;
  };

  "tool-completed": {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** Number of the model call, from 1. */
    step: number;
    /** Id of the tool call. A call that is repeated under its id returns the stored result. */
    callId: string;
    /** Name of the tool. */
    tool: ToolName;
    /** True when the tool failed; the text has the reason. */
    isError: boolean;
    /** The policy's decision; null for tools of the runner itself. */
    decision: Decision | null;
    /** The beginning of the text, at most 1 KiB. */
    preview: string;
    /** Size of the whole result, in bytes. */
    textBytes: number;
    /** The duration, in milliseconds. */
    durationMs: number;
    /** True when the result is the stored one of an earlier request with the same id. */
    replayed: boolean;
  };

  "tool-denied": {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** Number of the model call, from 1. */
    step: number;
    /** Id of the tool call. A call that is repeated under its id returns the stored result. */
    callId: string;
    /** Name of the tool. */
    tool: string;
    /** The policy's decision. */
    decision: Decision;
  };

  "tool-failed": {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** Number of the model call, from 1. */
    step: number;
    /** Id of the tool call. A call that is repeated under its id returns the stored result. */
    callId: string;
    /** Name of the tool. */
    tool: string;
    /** Stable snake_case code of the problem. */
    code: string;
    /** A description of the event, for people. */
    message: string;
  };

  finished: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** The answer, cut to 16 KiB. */
    output: string;
    /** The model, as `provider/model`. */
    model: ModelName;
    /** Model calls so far. */
    steps: number;
    /** Tool calls so far. */
    toolCalls: number;
    /** Tool calls that the policy or a person denied; absent when none was. */
    deniedCalls?: number;
    /** Tokens of the model calls. */
    usage: Usage;
    /** The duration, in milliseconds. */
    durationMs: number;
    /** Cost of the model calls in US dollars; null when the price of a model is unknown. */
    costUsd?: number | null;
  };

  failed: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** The reason of the failure: a code and a message. */
    failure: RunFailure;
    /** Model calls so far. */
    steps: number;
    /** Cost of the model calls in US dollars; null when the price of a model is unknown. */
    costUsd?: number | null;
    /** Tokens of the model calls. */
    usage?: Usage;
  };

  cancelled: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** The NATS user that did it. */
    by: string;
    /** Why, in words for people. */
    reason: PromptName | null;
    /** Model calls so far. */
    steps: number;
    /** Cost of the model calls in US dollars; null when the price of a model is unknown. */
    costUsd?: number | null;
    /** Tokens of the model calls. */
    usage?: Usage;
  };

  retried: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** The NATS user that did it. */
    by: string;
    /** The limits from now on. */
    limits: {
      /** The most model calls of a run. */
      maxSteps: number;
      /** The most tool calls of a run; null: no limit of its own. */
      maxToolCalls: number | null;
      /** The most input and output tokens of all model calls together; null: no limit. */
      maxTokens?: number;
      /** The most that all model calls may cost, in US dollars. Calls of unknown price count as 0. */
      maxCostUsd?: number;
      /** The number of times that the same call may have the same result before the run ends. */
      maxRepeatedCalls?: number;
      /** Time limit in milliseconds. */
      timeoutMs: number;
      /** At a limit the run ends (`fail`), or waits for `run.resume` with other limits (`pause`). */
      onLimit?: OnLimit;
    };
    /** Position of the command in its stream; 0 for a request that was no command. */
    streamSequence: number;
  };

  "limits-changed": {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** The NATS user that did it. */
    by: string;
    /** The limits from now on. */
    limits: {
      /** The most model calls of a run. */
      maxSteps: number;
      /** The most tool calls of a run; null: no limit of its own. */
      maxToolCalls: number | null;
      /** The most input and output tokens of all model calls together; null: no limit. */
      maxTokens?: number;
      /** The most that all model calls may cost, in US dollars. Calls of unknown price count as 0. */
      maxCostUsd?: number;
      /** The number of times that the same call may have the same result before the run ends. */
      maxRepeatedCalls?: number;
      /** Time limit in milliseconds. */
      timeoutMs: number;
      /** At a limit the run ends (`fail`), or waits for `run.resume` with other limits (`pause`). */
      onLimit?: OnLimit;
    };
    /** Position of the command in its stream; 0 for a request that was no command. */
    streamSequence: number;
  };

  waiting: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** The waits of the run. */
    waits: RunWait[];
    /** When the run continues without an event; null: never. */
    until: SearchedFrom;
  };

  woken: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** The number of times a runner picked the run up, from 1. */
    attempt: number;
  };

  "question-requested": {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** Id of the tool call. A call that is repeated under its id returns the stored result. */
    callId: string;
    /** The question. */
    question: string;
    /** Answers to choose from; empty when any text will do. */
    options: string[];
    /** JSON Schema of the answer; missing: a text. */
    schema?: { [name: string]: unknown };
    /** When the run continues without an answer. */
    until: Timestamp;
  };

  "question-answered": {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** Id of the tool call. A call that is repeated under its id returns the stored result. */
    callId: string;
    /** The NATS user that did it. */
    by: string;
  };

  "child-started": {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** Id of the tool call. A call that is repeated under its id returns the stored result. */
    callId: string;
    /** Id of the run that works for this one. */
    childRunId: RunId;
    /** Name of the agent. */
    agent: string;
  };

  "child-ended": {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** Id of the tool call. A call that is repeated under its id returns the stored result. */
    callId: string;
    /** Id of the run that works for this one. */
    childRunId: RunId;
    /** The outcome of the child run. */
    status: string;
  };

  steered: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** The NATS user that did it. */
    by: string;
    /** The beginning of the text, at most 1 KiB. */
    preview: string;
    /** Position of the command in its stream; 0 for a request that was no command. */
    streamSequence?: number;
  };

  dead: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the entry, from 1 and without a gap. */
    seq: number;
    /** When it happened. */
    at: Timestamp;
    /** Fields that are complete only in `runs.get`. */
    abridged?: {
      /** Name of the field. */
      field: string;
      /** Size of the whole text in bytes. */
      bytes: number;
      /** Digest of the whole text. */
      digest: Digest;
    }[];
    /** The reason of the failure: a code and a message. */
    failure: RunFailure;
    /** Model calls so far. */
    steps: number;
    /** Cost of the model calls in US dollars; null when the price of a model is unknown. */
    costUsd?: number | null;
    /** Tokens of the model calls. */
    usage?: Usage;
  };

  delta: {
    /** Id of the run. The owner's part before `~` may be left out for a run of the caller. */
    runId: RunId;
    /** Number of the model call, from 1. */
    step: number;
    /** The next piece of text. It is lost when it is missed; the event at the end of the step has it. */
    delta: string;
    /** `delta`: text. `reset-step`: the text of this step so far is void. */
    kind?: "delta" | "reset-step";
  };
}

/** After these events a run publishes no other, unless a caller continues it. */

export const RUN_ENDS: ReadonlySet<string> = new Set([
  "finished",
  "failed",
  "cancelled",
  "dead",
  "rejected",
  "merged",
]);
