/** Written by scripts/generate.ts from the gateway's route table and the contracts. */

export type AccessKind = "tool" | "resource" | "prompt" | "sampling" | "elicitation" | "logging";

export type Address = {
  channel: ChannelName;
  accountId: string;
  target: Target;
  threadId?: ProviderId;
};

export type AddressInput = {
  channel: ChannelName;
  accountId?: string;
  target: Target;
  threadId?: ProviderId;
};

export type AgentDefinition = {
  name: string;
  description: string;
  source: AgentSource;
  digest: Digest;
  model: ModelName | null;
  systemPrompt: string;
  tools: string[] | null;
  skills: string[];
  maxSteps: number;
  temperature: number | null;
  thinking: ThinkingLevel | null;
  plan: Plan | null;
  roles: string[];
  limits: {
    maxToolCalls: number | null;
    maxTokens: number | null;
    maxCostUsd: number | null;
    timeoutMs: number | null;
    maxDepth: number | null;
  };
  onUnknownOutcome: "retry" | "fail" | "ask";
  approval: ApprovalTier | null;
  contextWindow: number | null;
  memoryBytes: number | null;
  sharesMemory: boolean;
};

export type AgentImportCounts = {
  found: number;
  loaded: number;
  skipped: number;
  withheld: number;
  reasons: { [name: string]: number };
};

export type AgentSource = "project" | "user" | "built-in" | "imported";

export type AgentSummary = {
  name: string;
  description: string;
  source: AgentSource;
  digest: Digest;
  model: ModelName | null;
};

export type AgentVersion = {
  digest: Digest;
  provenance: Provenance;
  verdict: { scanner: string; verdict: ScanVerdict } | null;
  supersededAt: Timestamp | null;
};

export type Answer = string | number | boolean | { [name: string]: unknown } | unknown[];

export type AnswerContent = { [name: string]: string | number | boolean | string[] };

export type Approval = {
  id: ApprovalId;
  state: ApprovalState;
  tier: AskedTier;
  risk: Risk;
  binding: Digest;
  principal: Principal;
  caller: string;
  tool: ToolRef;
  pin: Digest | null;
  argsDigest: Digest;
  rule: string | null;
  why: string;
  policyDigest: Digest;
  callId: CallId | null;
  grantTtlMs: number | null;
  requestedAt: Timestamp;
  expiresAt: Timestamp;
  decision: ApprovalDecision | null;
  consumedAt: Timestamp | null;
  execution: Execution | null;
  resultDigest: Digest | null;
};

export type ApprovalDecision = {
  by: string;
  authenticated: Authentication;
  scope: "once" | "session" | null;
  reason: string | null;
  at: Timestamp;
};

export type ApprovalId = string;

export type ApprovalState =
  | "pending"
  | "approved"
  | "denied"
  | "expired"
  | "cancelled"
  | "consumed";

export type ApprovalTier = "auto" | "session" | "always";

export type ArgumentChange = { pointer: string; before: string | null; after: string | null };

export type AskedTier = "session" | "always";

export type Attachment = { source: string; name?: string; mimeType?: string };

export type AuditWriterId = string;

export type AuditedRecord = {
  v: 1;
  service: string;
  writer: AuditWriterId;
  seq: number;
  at: Timestamp;
  prev: Digest | null;
  hash: Digest;
  kind: string;
  [name: string]: unknown;
};

export type Authentication = "nats-user" | "user-token" | "policy-service";

export type BuiltinInfo = {
  name: ToolName;
  description: string;
  inputSchema: { type: "object"; [name: string]: unknown };
  tier: ApprovalTier;
};

export type BusyPolicy = "enqueue" | "steer" | "interrupt" | "reject";

export type CallContext = {
  agent: string;
  requester: string;
  input: string;
  modelText: string;
  calls: PrecedingCall[];
  earlierCalls: number;
};

export type CallId = string;

export type CallMeta = { [name: string]: unknown };

export type Cancellation = { by: string; reason: PromptName | null };

export type Capabilities = {
  actions: ChannelAction[];
  maxTextLength: number;
  media: { kinds: MediaKind[]; maxBytes: number } | null;
  effects: string[];
  threads: "none" | "reply" | "topic" | "channel";
  reactions: "none" | "unicode" | "named" | "any";
  idempotentSend: boolean;
};

export type CapabilityUse = { declared: string[]; used: string[]; undeclared: string[] };

export type Changes = { added: string[]; removed: string[] };

export type ChannelAccount = {
  channel: ChannelName;
  accountId: string;
  caller: string;
  agent: string | null;
  inbound: "connected" | "connecting" | "standby" | "error" | "none";
  problem: string | null;
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

export type CheckedSkill = {
  file: string;
  name: string | null;
  loads: boolean;
  repaired: boolean;
  needsReview: boolean;
  conformance: Conformance[];
  diagnostics: Diagnostic[];
};

export type CircuitState = "closed" | "open" | "half_open";

export type Conformance = {
  target: SkillTarget;
  conforms: boolean;
  problems: { code: string; message: string; line: number | null }[];
};

export type ConsideredLimit = {
  kind: "stop" | "server" | "token" | "layer" | "owner" | "sub-agent" | "flow" | "budget";
  name: string;
  passes: boolean;
  detail: string;
};

export type ConsideredRule = {
  rule: string;
  effect: "allow" | "deny";
  match: boolean;
  failed: RuleMismatch | null;
  tier?: ApprovalTier;
};

export type ContentBlock = { type: string; [name: string]: unknown };

export type ContentPart = { type: "text"; text: string } | FilePart;

export type ContentParts = ContentPart[];

export type CredentialName = string;

export type DeadLetter = {
  runId: RunId;
  subject: string;
  caller: string;
  streamSequence: number;
  sentAt: Timestamp;
  failure: RunFailure;
  id?: LetterId;
  canRedrive?: boolean;
};

export type DeadRun = {
  runId: RunId;
  agent: string;
  requester: string;
  model: ModelName;
  status: RunStatus;
  steps: number;
  toolCalls: number;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  attempts: number;
  labels: { [name: string]: string };
  usage?: Usage;
  costUsd?: number | null;
  waitsFor?: WaitReason[];
  suspended?: string;
  failure: RunFailure;
};

export type Decision = {
  effect: "allow" | "deny" | "ask";
  rule: string | null;
  reason: string;
  policyDigest: Digest;
  tier?: ApprovalTier;
  ttlMs?: number;
  stop?: StopInForce;
};

export type DeliveryStatus = "delivered" | "not-delivered" | "unknown" | "not-requested";

export type Diagnostic = {
  severity: "error" | "warning" | "info";
  code: string;
  message: string;
  file: string;
  line: number | null;
  column: number | null;
  excerpt?: string;
  patch?: { line: number; before: string; after: string };
};

export type Digest = string;

export type Execution = "executed" | "unknown";

export type FileName = string;

export type FilePart = {
  type: "file";
  ref: FileRef;
  name: FileName;
  mediaType: MediaType;
  sizeBytes: number;
  sha256: string;
};

export type FileRef = string;

export type GrantId = string;

export type IfVersion = string;

export type ImportCounts = {
  found: number;
  loaded: number;
  repaired: number;
  skipped: number;
  withheld: number;
  reasons: { [name: string]: number };
};

export type ImportedAgent = {
  file: string;
  name: string | null;
  description: string;
  digest: Digest | null;
  outcome: "loaded" | "skipped" | "not_an_agent";
  change: "new" | "changed" | "same" | "hidden" | null;
  withheld: WithheldReason | null;
  diagnostics: Diagnostic[];
  scan?: ScanReport;
};

export type ImportedSkill = {
  file: string;
  name: string | null;
  description: string;
  version: Digest | null;
  outcome: "loaded" | "repaired" | "skipped";
  change: "new" | "changed" | "same" | "hidden" | null;
  withheld: WithheldReason | null;
  dependenciesMet: boolean | null;
  dependencyWarnings: string[];
  diagnostics: Diagnostic[];
  conformance?: Conformance[];
  scan?: ScanReport;
};

export type JobCatchUp = "once" | "skip";

export type JobDelivery = {
  mode: "none" | "announce" | "webhook";
  channel?: IfVersion;
  to?: ResourceUri;
  accountId?: IfVersion;
  bestEffort?: boolean;
};

export type JobOverlap = "skip" | "queue" | "parallel";

export type JobPayload = {
  kind: "systemEvent" | "agentTurn";
  text?: SteerMessage;
  message?: SteerMessage;
  model?: ModelName;
  thinking?: ThinkingLevel;
  timeoutSeconds?: number;
};

export type JobRunStatus = "ok" | "error" | "skipped";

export type JobSchedule = {
  kind: "at" | "every" | "cron";
  at?: string;
  everyMs?: number;
  anchorMs?: number;
  expr?: string;
  tz?: string;
  staggerMs?: number;
};

export type JobSource = {
  kind: "at" | "every" | "cron" | "message";
  at?: string;
  everyMs?: number;
  anchorMs?: number;
  expr?: string;
  tz?: string;
  staggerMs?: number;
  subject?: string;
  stream?: string;
};

export type JobState = {
  nextRunAtMs?: number;
  runningAtMs?: number;
  lastRunAtMs?: number;
  lastRunStatus?: JobRunStatus;
  lastError?: string;
  lastDurationMs?: number;
  consecutiveErrors: number;
  scheduleErrorCount: number;
  lastDelivered?: boolean;
  lastDeliveryStatus?: DeliveryStatus;
  lastDeliveryError?: string;
};

export type KeepForMs = number;

export type LetterId = string;

export type LintFinding = {
  kind:
    | "dead"
    | "shadowed"
    | "duplicate"
    | "conflict"
    | "unknown-tools"
    | "open-shell"
    | "incomplete";
  rule: string | null;
  message: string;
};

export type ListCursor = string;

export type ListedSkill = { name: string; digest: Digest; tokens: number; shortened: boolean };

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

export type MemoryInPrompt = { kept: number; given: number; named: number; refused?: string };

export type MessageFiles = FilePart[];

export type ModelName = string;

export type ModelProvider = { name: string; type: string; hasKey: boolean };

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

export type PinDifference = { where: string; before: string | null; after: string | null };

export type PinState = "pending" | "approved" | "changed" | "blocked";

export type Plan = {
  steps: PlanStep[];
  answer: SteerMessage;
  delayMs?: number;
  chunkDelayMs?: number;
  chunkChars?: number;
};

export type PlanCall = {
  tool: IfVersion;
  with: { [name: string]: unknown };
  raw?: string;
  as?: string;
};

export type PlanCondition = {
  at: string;
  equals?: string | number | boolean | null;
  contains?: string;
  not?: boolean;
};

export type PlanFailure = {
  how: "rate-limit" | "overloaded" | "bad-request" | "cut" | "silence";
  times: number;
  retryAfterMs?: number;
};

export type PlanStep = {
  when?: PlanCondition;
  say?: string;
  calls: PlanCall[];
  answer?: SteerMessage;
  repeat?: { while: PlanCondition; times: number };
  fail?: PlanFailure;
  delayMs?: number;
  chunkDelayMs?: number;
  chunkChars?: number;
};

export type PolicyFiles = PolicyTextFile[];

export type PolicyProblem = {
  in: "bundle" | "tests";
  file?: string;
  line: number;
  column: number;
  message: string;
};

export type PolicyRule = {
  id: string;
  effect: "allow" | "deny";
  tier?: ApprovalTier;
  who: string;
  what: string;
  when: string[];
  note: string | null;
};

export type PolicyTestResult = {
  name: string;
  file?: string;
  line: number;
  passed: boolean;
  message: string | null;
};

export type PolicyTextFile = { name: string; text: string };

export type PolicyVersion = {
  version: number;
  policyDigest: Digest;
  rules: number;
  source: "file" | "activated";
  by: string | null;
  at: Timestamp;
  note: string | null;
};

export type PrecedingCall = {
  tool: string;
  argsPreview: string;
  outcome: "done" | "error" | "open";
  preview: string;
};

export type Presentation = {
  args: string;
  argsBytes: number;
  isCut: boolean;
  hasHiddenCharacters: boolean;
  hasRedactions: boolean;
  changes: ArgumentChange[] | null;
};

export type Principal = {
  user: string;
  agent: string | null;
  runId: RunId | null;
  roles?: string[];
  approval?: ApprovalTier;
  context?: RunContext;
};

export type PrincipalInput = {
  user: string;
  agent: string | null;
  runId: RunId | null;
  roles?: string[];
  approval?: ApprovalTier;
  context?: RunContext;
};

export type PromptInfo = { name: PromptName; [name: string]: unknown };

export type PromptMessage = {
  role: "user" | "assistant";
  content: ContentBlock;
  [name: string]: unknown;
};

export type PromptName = string;

export type Provenance = {
  source: "root" | "upload" | "archive";
  label: string;
  by: string;
  at: Timestamp;
  git: { url: string | null; commit: string | null } | null;
};

export type ProviderId = string;

export type Question = {
  id: QuestionId;
  server: ServerId;
  state: QuestionState;
  mode: "form" | "url";
  message: string;
  form: QuestionForm | null;
  url: string | null;
  askedFor: Principal[];
  askedAt: Timestamp;
  expiresAt: Timestamp;
  endedAt: Timestamp | null;
  answeredBy: string | null;
};

export type QuestionChoice = { const: string; title?: string };

export type QuestionField =
  | {
      title?: string;
      description?: string;
      type: "string";
      oneOf: QuestionChoice[];
      default?: string;
    }
  | {
      title?: string;
      description?: string;
      type: "string";
      enum: string[];
      enumNames?: string[];
      default?: string;
    }
  | {
      title?: string;
      description?: string;
      type: "string";
      minLength?: number;
      maxLength?: number;
      format?: "email" | "uri" | "date" | "date-time";
      default?: string;
    }
  | {
      title?: string;
      description?: string;
      type: "number" | "integer";
      minimum?: number;
      maximum?: number;
      default?: number;
    }
  | { title?: string; description?: string; type: "boolean"; default?: boolean }
  | {
      title?: string;
      description?: string;
      type: "array";
      minItems?: number;
      maxItems?: number;
      items: { enum: string[] } | { anyOf: QuestionChoice[] };
      default?: string[];
    };

export type QuestionForm = { fields: { [name: string]: QuestionField }; required: string[] };

export type QuestionId = string;

export type QuestionState = "pending" | "accepted" | "declined" | "cancelled" | "expired" | "lost";

export type ReachedLimit = {
  limit: string;
  value: number;
  team?: { name: string; per: "hour" | "day" | "month" };
};

export type ReadMessage = {
  messageId: string;
  author: { id: string; name?: string };
  text: string;
  at: Timestamp;
  isOwn: boolean;
  replyToMessageId?: string;
  threadId?: string;
  attachments: { name?: string; mimeType?: string }[];
  reactions?: string[];
  isPinned?: boolean;
};

export type RecordedAnswer = {
  request: RecordedRequest;
  content: (
    | { type: "text" | "reasoning"; text: string }
    | { type: "tool-call"; toolCallId: string; tool: string; input: unknown }
  )[];
  finishReason: "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";
  usage: { inputTokens: number; outputTokens: number };
  servedModel: string;
};

export type RecordedDecisionInput = {
  principal: PrincipalInput;
  access: AccessKind;
  tool: ToolRef;
  server?: ServerFacts;
  layers?: string[][] | null;
  args?: { [name: string]: unknown };
};

export type RecordedRequest = {
  instructions: string;
  messages: number;
  earlier: string;
  since: string[];
};

export type RecordedRun = {
  runId: RunId;
  agent: string;
  input: RunInput;
  skill?: string;
  output?: { [name: string]: unknown };
  model: ModelName;
  recording: Recording;
};

export type RecordedSummary = {
  upTo: number;
  text: string;
  usage: { inputTokens: number; outputTokens: number };
};

export type Recording = {
  version: 1;
  answers: RecordedAnswer[];
  summaries: RecordedSummary[];
  contextWindow?: number;
};

export type RecordingInput = {
  version: 1;
  answers: RecordedAnswer[];
  summaries?: RecordedSummary[];
  contextWindow?: number;
};

export type RegisteredSkill = {
  manifest: SkillManifest;
  command: SlashCommand;
  digest: Digest;
  instructions: string;
  warnings: string[];
  dependenciesMet: boolean;
  sourcePath: string;
  registration: { source: "local"; installer: "openclaw-importer" };
};

export type ReplayedDecision =
  | {
      kind: "decided";
      effect: "allow" | "deny" | "ask";
      tier?: ApprovalTier;
      rule: string | null;
      reason: string;
    }
  | { kind: "unknown"; needs: "arguments" | "layers" };

export type ResourceContent = {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
  [name: string]: unknown;
};

export type ResourceInfo = { uri: ResourceUri; name: string; [name: string]: unknown };

export type ResourceTemplateInfo = {
  uriTemplate: ResourceUri;
  name: string;
  [name: string]: unknown;
};

export type ResourceUri = string;

export type Risk = "low" | "medium" | "high";

export type RuleMismatch = { part: string; expected: string; got: string };

export type RunAuthority = {
  roles: string[];
  approval?: ApprovalTier;
  context: RunOrigin;
  toolLayers: string[][];
};

export type RunChat = {
  address: Address;
  messageId?: ProviderId;
  sender?: { id: ProviderId; name?: string };
};

export type RunChild = {
  runId: RunId;
  callId: string;
  agent: string;
  status: "succeeded" | "failed" | "cancelled" | "dead" | null;
};

export type RunContext = {
  channel?: string;
  group?: string;
  chat?: RunChat;
  owner?: boolean;
  session?: string;
  model?: ModelName;
  replayed?: true;
  dictatedBy?: string;
  depth?: number;
  parent?: RunId;
  between?: RunId[];
  root?: RunId;
  sharesMemory?: true;
};

export type RunDetail = {
  runId: RunId;
  agent: string;
  requester: string;
  model: ModelName | null;
  status: RunState;
  steps: number;
  toolCalls: number;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  attempts: number;
  labels: { [name: string]: string };
  usage: Usage;
  costUsd?: number | null;
  waitsFor?: WaitReason[];
  suspended?: string;
  input: RunInput;
  output: string | null;
  failure: RunFailure | null;
  cancellation: Cancellation | null;
  thinking?: ThinkingLevel;
  readers?: string[];
  agentDigest: Digest | null;
  policyDigest?: Digest;
  skills: { name: string; digest: Digest }[];
  skillsCut?: { shortened: string[]; dropped: string[] };
  memory?: MemoryInPrompt;
  toolsUnavailable?: UnavailableServer[];
  waits?: RunWait[];
  parent?: { runId: RunId; callId: string };
  children?: RunChild[];
  forkedFrom?: { runId: RunId; fromStep: number };
  session?: { sessionId: SessionId; key: string };
  authority?: RunAuthority;
};

export type RunFailure = { code: string; message: string };

export type RunFollowUp =
  | {
      kind: "announce";
      to: { session: string; agent: string };
      label: string | null;
      endsSession: boolean;
      chat?: AddressInput;
    }
  | {
      kind: "converse";
      requester: { session: string; agent: string };
      target: { session: string; agent: string };
      speaker: "requester" | "target";
      turnsLeft: number;
      question: string;
      firstReply?: string;
      lastReply?: string;
      chat?: AddressInput;
    }
  | { kind: "tell"; chat: AddressInput };

export type RunId = string;

export type RunInput = string | ContentParts | { [name: string]: unknown };

export type RunLimits = {
  maxSteps?: number;
  maxToolCalls?: number;
  maxTokens?: number;
  maxCostUsd?: number;
  maxRepeatedCalls?: number;
  timeoutMs?: number;
  onLimit?: OnLimit;
};

export type RunOrigin = {
  channel?: string;
  group?: string;
  chat?: RunChat;
  owner?: boolean;
  session?: string;
  model?: ModelName;
  replayed?: true;
  dictatedBy?: string;
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
  runId: RunId;
  agent: string;
  requester: string;
  model: ModelName;
  status: RunStatus;
  steps: number;
  toolCalls: number;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  attempts: number;
  labels: { [name: string]: string };
  usage?: Usage;
  costUsd?: number | null;
  waitsFor?: WaitReason[];
  suspended?: string;
};

export type RunWait = {
  reason: WaitReason;
  callId: CredentialName;
  tool: string;
  until: Timestamp | null;
  approvalId?: string;
  childRunId?: RunId;
  question?: string;
  options?: string[];
  schema?: { [name: string]: unknown };
  limit?: ReachedLimit;
  stop?: StopInForce;
};

export type SaidOrigin = { channel?: string; group?: string; chat?: RunChat; owner?: boolean };

export type Sampling = {
  temperature?: number;
  topP?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  seed?: number;
  stopSequences?: string[];
  maxOutputTokens?: number;
};

export type ScanConfidence = "low" | "medium" | "high";

export type ScanFinding = {
  code: string;
  owasp: OwaspAst;
  severity: ScanSeverity;
  confidence: ScanConfidence;
  blocks: boolean;
  file: string;
  line: number | null;
  column: number | null;
  evidence: string;
  message: string;
  advice: string;
};

export type ScanReport = {
  scanner: string;
  verdict: ScanVerdict;
  findings: ScanFinding[];
  leftOut: number;
  suppressed: { finding: ScanFinding; reason: string }[];
  idleSuppressions: { suppression: ScanSuppression; why: "expired" | "unused" }[];
  unscanned: UnscannedPart[];
  capabilities: SkillCapabilities;
  files: number;
  bytes: number;
};

export type ScanSeverity = "info" | "low" | "medium" | "high" | "critical";

export type ScanSuppression = {
  code: string;
  reason: string;
  digest?: Digest;
  path?: PromptName;
  expiresAt?: Timestamp;
};

export type ScanVerdict = "clean" | "findings" | "partial" | "blocked";

export type ScheduleId = string;

export type ScheduleJob = {
  name: IfVersion;
  description?: string;
  agentId?: string | null;
  sessionKey?: string | null;
  schedule: JobSource;
  sessionTarget: "main" | "isolated";
  payload: JobPayload;
  delivery?: JobDelivery;
  enabled: boolean;
  deleteAfterRun: boolean;
  wakeMode: "next-heartbeat" | "now";
  overlap: "skip" | "queue" | "parallel";
  catchUp: "once" | "skip";
  declaredAs?: string;
  id: ScheduleId;
  owner: string;
  createdAtMs: number;
  updatedAtMs: number;
  state: JobState;
};

export type ScheduleJobInputInput = {
  name: IfVersion;
  description?: string;
  agentId?: string | null;
  sessionKey?: string | null;
  schedule: JobSchedule;
  sessionTarget: "main" | "isolated";
  payload: JobPayload;
  delivery?: JobDelivery;
  enabled?: boolean;
  deleteAfterRun?: boolean;
  wakeMode?: "next-heartbeat" | "now";
  overlap?: "skip" | "queue" | "parallel";
  catchUp?: "once" | "skip";
};

export type ScheduleJobPatch = {
  name?: IfVersion;
  description?: string;
  agentId?: string | null;
  sessionKey?: string | null;
  schedule?: JobSchedule;
  sessionTarget?: "main" | "isolated";
  payload?: JobPayload;
  delivery?: JobDelivery | null;
  enabled?: boolean;
  deleteAfterRun?: boolean;
  wakeMode?: WakeMode;
  overlap?: JobOverlap;
  catchUp?: JobCatchUp;
};

export type ScheduleRun = {
  ts: number;
  jobId: ScheduleId;
  jobName: string;
  action: "finished";
  status: JobRunStatus;
  dueAtMs: number;
  missed?: number;
  error?: string;
  summary?: string;
  delivered?: boolean;
  deliveryStatus?: DeliveryStatus;
  deliveryError?: string;
  runId?: RunId;
  sessionKey?: string;
  sessionId?: SessionId;
  runAtMs?: number;
  durationMs?: number;
  nextRunAtMs?: number;
  model?: string;
  provider?: string;
  usage?: { input: number; output: number; total: number; cacheRead?: number; cacheWrite?: number };
};

export type SendId = string;

export type SentFile = { path: string; text?: string; base64?: string };

export type SentSkill = { directory: string; files: SentFile[] };

export type ServerFacts = { labels?: string[]; roles?: string[]; enabledTools?: string[] };

export type ServerId = string;

export type ServerInfo = {
  id: ServerId;
  name: string;
  origin: "file" | "api";
  transport: TransportKind;
  status: ServerStatus;
  toolCount: number;
  serverVersion: string | null;
  protocolVersion: string | null;
  lastError: string | null;
  connectedAt: Timestamp | null;
  capabilities?: { tools: boolean; resources: boolean; prompts: boolean } | null;
  instructions?: string;
  owner?: string | null;
  circuit?: CircuitState;
  autoConnect?: boolean;
  overridesFile?: boolean;
  warnings?: string[];
};

export type ServerMessage = { at: Timestamp; level: LogLevel; logger: string | null; text: string };

export type ServerStatus = "connecting" | "connected" | "disconnected" | "error" | "disabled";

export type Session = {
  sessionId: SessionId;
  key: string;
  owner: string;
  kind: SessionKind;
  label: string | null;
  agent: string;
  model: ModelName | null;
  skillsOff: string[];
  onBusy: BusyPolicy;
  version?: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  endsAt: Timestamp;
  messages: number;
  droppedMessages: number;
  bytes: number;
  activeRun: RunId | null;
  queued: number;
  lastRun: {
    runId: RunId;
    status: "succeeded" | "failed" | "cancelled" | "dead";
    model?: ModelName;
    contextWindow?: number;
    thinking?: ThinkingLevel;
  } | null;
  totalTokens: number;
};

export type SessionGrant = {
  id: GrantId;
  principal: Principal;
  tool: ToolRef;
  pin: Digest | null;
  rule: string | null;
  policyDigest: Digest;
  sameArguments: string[];
  approvalId: ApprovalId;
  grantedBy: string;
  grantedAt: Timestamp;
  expiresAt: Timestamp;
  usesLeft: number;
};

export type SessionId = string;

export type SessionKind = "main" | "group" | "cron" | "hook" | "node" | "other";

export type SessionMessage = {
  at: Timestamp;
  role: "user" | "assistant" | "tool" | "notice";
  text: string;
  runId: RunId;
  sendId?: SendId;
  by?: string;
  tool?: string;
  isError?: boolean;
  truncated?: boolean;
  redacted?: boolean;
  files?: MessageFiles;
};

export type Skill = {
  name: string;
  description: string;
  digest: Digest;
  path: string;
  userInvocable: boolean;
  modelInvocable: boolean;
  allowedTools: string[] | null;
  argumentHint: string | null;
  triggers?: string[];
  repaired?: boolean;
  needsReview?: boolean;
  version?: Digest;
  scope?: SkillScope;
  format?: "legacy";
  source?: "openclaw";
  diagnostics: Diagnostic[];
  body: string;
  arguments: string[];
  needsBraces?: boolean;
  plan: Plan | null;
  record?: SkillRecord;
  dispatch?: { tool: string };
};

export type SkillCapabilities = {
  env: CapabilityUse;
  bins: CapabilityUse;
  hosts: CapabilityUse;
  tools: CapabilityUse;
};

export type SkillCatalogue = {
  text: string;
  budgetTokens: number;
  tokens: number;
  wholeTokens: number;
  listed: ListedSkill[];
  dropped: string[];
  keepForMs?: KeepForMs;
};

export type SkillDependencies = {
  met: boolean;
  requirements: SkillRequirements;
  checks: {
    kind: "bin" | "anyBin" | "env" | "config" | "os";
    name: string;
    status: "found" | "missing" | "not_applicable";
  }[];
  warnings: string[];
};

export type SkillFileFacts = { path: string; sizeBytes: number; digest: Digest };

export type SkillManifest = {
  id: string;
  name: string;
  version: string;
  author: string | null;
  description: string;
  category: "tools";
  icon: "Plug";
  source: "openclaw" | "agent-skills";
  tools: { name: string; description: string; parameters: {}; dispatch: "skill" | "tool" }[];
  keywords: string[];
};

export type SkillRecord = {
  displayName: string | null;
  license: string | null;
  compatibility: string | null;
  version: string | null;
  author: string | null;
  homepage: string | null;
  model: string | null;
  effort: "low" | "medium" | "high" | "xhigh" | "max" | null;
  context: "fork" | null;
  agent: string | null;
  background: boolean | null;
  shell: "bash" | "powershell" | null;
  paths: string[];
  disallowedTools: string[];
  hooks: unknown;
  openclaw: {
    aliases: string[];
    emoji: string | null;
    skillKey: string | null;
    homepage: string | null;
    envVars: { name: string; required: boolean; description: string }[];
  } | null;
  unknown: { [name: string]: unknown };
};

export type SkillRequirements = {
  bins: string[];
  anyBins: string[];
  env: string[];
  config: string[];
  os: string[];
  always: boolean;
  primaryEnv: string | null;
  install: unknown[];
};

export type SkillScope = "project" | "user" | "workspace" | "imported";

export type SkillSummary = {
  name: string;
  description: string;
  digest: Digest;
  path: string;
  userInvocable: boolean;
  modelInvocable: boolean;
  allowedTools: string[] | null;
  argumentHint: string | null;
  triggers?: string[];
  repaired?: boolean;
  needsReview?: boolean;
  version?: Digest;
  scope?: SkillScope;
  format?: "legacy";
  source?: "openclaw";
  diagnostics: Diagnostic[];
};

export type SkillTarget = "agent-skills" | "claude-code" | "claude-ai" | "openclaw" | "clawhub";

export type SkillVersion = {
  version: Digest;
  digest: Digest;
  provenance: Provenance;
  verdict: { scanner: string; verdict: ScanVerdict } | null;
  files: SkillFileFacts[];
  supersededAt: Timestamp | null;
};

export type SlashCommand = {
  name: string;
  argumentHint: string | null;
  available: boolean;
  shadowedBy: string | null;
};

export type SteerMessage = string;

export type Stop = { scope: StopScope; reason: string; by: string; at: Timestamp };

export type StopInForce = { scope: StopScope; reason: string };

export type StopScope =
  | { kind: "all" }
  | { kind: "agent"; name: string }
  | { kind: "run"; name: RunId }
  | { kind: "server"; name: ServerId }
  | { kind: "user"; name: string }
  | { kind: "key"; name: string };

export type Target = { kind: TargetKind; id: ProviderId };

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
  severity: "hard" | "soft";
  where: string;
  evidence: string;
};

export type ToolInfo = {
  name: ToolName;
  server: ServerId;
  tool: string;
  description: string;
  inputSchema: { type: "object"; [name: string]: unknown };
  definition?: { [name: string]: unknown };
  pin?: Digest;
  findings?: ToolFinding[];
};

export type ToolName = string;

export type ToolPin = {
  server: ServerId;
  tool: PromptName;
  name: ToolName;
  state: PinState;
  digest: Digest;
  approvedDigest: Digest | null;
  findings: ToolFinding[];
  firstSeenAt: Timestamp;
  seenAt: Timestamp;
  approvedBy: string | null;
  approvedAt: Timestamp | null;
  blockedBy: string | null;
};

export type ToolReach = {
  rule: string;
  tier: ApprovalTier;
  users: string[] | null;
  agents: string[] | null;
  roles: string[] | null;
  channels: string[] | null;
  groups: string[] | null;
  conditional: boolean;
  except: string[];
};

export type ToolRef = { name: ToolName; server: ServerId | null; tool: ResourceUri };

export type TransportKind = "stdio" | "http" | "sse";

export type UnavailableServer = { server: ServerId; reason: string };

export type UnscannedPart = {
  file: string;
  code:
    | "binary_file"
    | "undecodable_text"
    | "file_cut"
    | "too_many_files"
    | "too_many_bytes"
    | "deadline";
  message: string;
};

export type Usage = {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  reasoningTokens?: number;
  estimatedTokens?: number;
};

export type UserKey = {
  id: UserKeyId;
  caller: string;
  roles: UserRoles;
  scopes?: UserScopes;
  note: string | null;
  createdBy: string;
  createdAt: Timestamp;
  expiresAt: Timestamp | null;
  revokedAt: Timestamp | null;
};

export type UserKeyId = string;

export type UserRole = "viewer" | "operator" | "approver" | "admin";

export type UserRoles = UserRole[];

export type UserScope = string;

export type UserScopes = UserScope[];

export type UserSession = {
  caller: string;
  roles: UserRoles;
  scopes?: UserScopes;
  credential: CredentialName;
  id: UserSessionId;
  openedAt: Timestamp;
  expiresAt: Timestamp;
};

export type UserSessionId = string;

export type VersionReview = {
  files: { path: string; sizeBytes: number; text: string | null }[];
  scan: ScanReport | null;
  withheld: WithheldReason | null;
};

export type WaitReason = "approval" | "child" | "question" | "timer" | "limit" | "stopped";

export type WakeMode = "next-heartbeat" | "now";

export type WithheldReason = "untrusted" | "changed" | "blocked";

/** The operations by method and path below `/api/v1`. */

export interface Operations {
  "GET /me": {
    request: {};
    reply: {
      caller: string;
      roles: UserRole[];
      credential: string;
      scopes?: string[];
      may: string[];
    };
  };

  "GET /system": {
    request: {};
    reply: {
      services: {
        name: string;
        id: string;
        version: string;
        description: string;
        endpoints: {
          name: string;
          subject: string;
          requests: number;
          errors: number;
          averageMs: number;
        }[];
      }[];
      streams: {
        name: string;
        messages: number;
        bytes: number;
        maxBytes: number;
        queues: { name: string; waiting: number; inWork: number; redelivered: number }[];
      }[];
      readers: number;
    };
  };

  "GET /runs": {
    request: {
      query?: {
        limit?: number;
        owner?: string;
        agent?: string;
        status?: RunStatus;
        cursor?: ListCursor;
      };
    };
    reply: { runs: RunSummary[]; next: NextCursor };
  };

  "POST /runs": {
    request: {
      body: {
        agent: string;
        input: RunInput;
        runId?: RunId;
        skill?: string;
        model?: ModelName;
        thinking?: ThinkingLevel;
        sampling?: Sampling;
        replay?: RecordingInput;
        limits?: RunLimits;
        labels?: { [name: string]: string };
        readers?: string[];
        origin?: SaidOrigin;
        output?: { [name: string]: unknown };
        session?: string;
        onBusy?: BusyPolicy;
      };
      idempotencyKey?: string;
    };
    reply: { runId: string; sequence: number };
  };

  "GET /runs/dead": {
    request: { query?: { limit?: number; cursor?: ListCursor } };
    reply: { runs: DeadRun[]; letters?: DeadLetter[]; next: NextCursor };
  };

  "POST /runs/dead/{letterId}/redrive": {
    request: { path: { letterId: string } };
    reply: { runId: RunId; outcome: "sent" | "repeated" };
  };

  "GET /runs/questions": {
    request: { query?: { limit?: number; cursor?: ListCursor } };
    reply: {
      questions: {
        runId: RunId;
        callId: CredentialName;
        question: string;
        options: string[];
        schema?: { [name: string]: unknown };
        until: Timestamp;
        requester: string;
        agent: string;
      }[];
      next: NextCursor;
    };
  };

  "GET /runs/{runId}": { request: { path: { runId: string } }; reply: { run: RunDetail } };

  "GET /runs/{runId}/recording": {
    request: { path: { runId: string } };
    reply: { run: RecordedRun };
  };

  "POST /runs/{runId}/cancel": {
    request: { path: { runId: string }; body?: { reason?: PromptName } };
    reply: { outcome: "requested" | "remembered" | "ended" };
  };

  "POST /runs/{runId}/retry": {
    request: { path: { runId: string }; body?: { limits?: RunLimits } };
    reply: { runId: string; sequence: number };
  };

  "POST /runs/{runId}/resume": {
    request: { path: { runId: string }; body?: { limits?: RunLimits } };
    reply: { runId: string; sequence: number };
  };

  "POST /runs/{runId}/steer": {
    request: { path: { runId: string }; body: { message: SteerMessage } };
    reply: { runId: string; sequence: number };
  };

  "POST /runs/{runId}/fork": {
    request: {
      path: { runId: string };
      body: {
        newRunId?: RunId;
        fromStep: number;
        input?: RunInput;
        agent?: string;
        model?: ModelName;
        limits?: RunLimits;
        labels?: { [name: string]: string };
      };
      idempotencyKey?: string;
    };
    reply: { runId: string; sequence: number };
  };

  "POST /runs/{runId}/answers": {
    request: { path: { runId: string }; body: { callId: CredentialName; answer: Answer } };
    reply: { outcome: "accepted" | "answered_before" };
  };

  "POST /files": {
    request:
      | { body: { name: FileName; mediaType?: string; base64?: string } }
      | {
          query: Omit<{ name: FileName; mediaType?: string; base64?: string }, "base64">;
          attachment: Blob;
        };
    reply: { file: FilePart; endsAt: Timestamp };
  };

  "GET /files/{ref}": {
    request: { path: { ref: string } };
    reply: { file: FilePart; endsAt: Timestamp };
  };

  "GET /sessions": {
    request: {
      query?: {
        kinds?: SessionKind[];
        search?: IfVersion;
        activeMinutes?: number;
        limit?: number;
        messageLimit?: number;
        cursor?: ListCursor;
        owner?: string;
        all?: boolean;
      };
    };
    reply: {
      count: number;
      sessions: {
        sessionId: SessionId;
        key: string;
        owner: string;
        kind: SessionKind;
        label: string | null;
        agent: string;
        model: ModelName | null;
        skillsOff: string[];
        onBusy: BusyPolicy;
        version?: string;
        createdAt: Timestamp;
        updatedAt: Timestamp;
        endsAt: Timestamp;
        messages: number;
        droppedMessages: number;
        bytes: number;
        activeRun: RunId | null;
        queued: number;
        lastRun: {
          runId: RunId;
          status: "succeeded" | "failed" | "cancelled" | "dead";
          model?: ModelName;
          contextWindow?: number;
          thinking?: ThinkingLevel;
        } | null;
        totalTokens: number;
        history?: SessionMessage[];
      }[];
      next: NextCursor;
    };
  };

  "GET /sessions/{session}": {
    request: { path: { session: string }; query?: { owner?: string } };
    reply: { session: Session };
  };

  "PATCH /sessions/{session}": {
    request: {
      path: { session: string };
      body?: {
        owner?: string;
        label?: IfVersion | null;
        kind?: SessionKind;
        onBusy?: BusyPolicy;
        agent?: string;
        model?: ModelName | null;
        skillsOff?: string[];
      };
      ifMatch?: string;
    };
    reply: { session: Session };
  };

  "DELETE /sessions/{session}": {
    request: { path: { session: string }; query?: { owner?: string }; ifMatch?: string };
    reply: {
      sessionId: SessionId;
      sessionKey: string;
      cancelledRun: RunId | null;
      droppedRuns: RunId[];
    };
  };

  "GET /sessions/{session}/history": {
    request: {
      path: { session: string };
      query?: { owner?: string; limit?: number; includeTools?: boolean };
    };
    reply: {
      sessionId: SessionId;
      sessionKey: string;
      messages: SessionMessage[];
      truncated: boolean;
      droppedMessages: number;
      contentTruncated: boolean;
      contentRedacted: boolean;
      bytes: number;
    };
  };

  "POST /sessions/{session}/messages": {
    request: {
      path: { session: string };
      body: {
        label?: IfVersion;
        owner?: string;
        message: SteerMessage | "";
        files?: MessageFiles;
        agent?: string;
        model?: ModelName;
        thinking?: ThinkingLevel;
        skill?: string;
        limits?: RunLimits;
        skillsOff?: string[];
        onBusy?: BusyPolicy;
        timeoutSeconds?: number;
        runId?: RunId;
        followUp?: RunFollowUp;
      };
      idempotencyKey?: string;
    };
    reply: {
      status: "accepted" | "ok" | "timeout" | "error";
      sessionId: SessionId;
      sessionKey: string;
      runId: RunId;
      placed: "started" | "queued" | "steered";
      reply?: string;
      error?: RunFailure;
    };
  };

  "POST /sessions/{session}/reset": {
    request: { path: { session: string }; body?: { owner?: string } };
    reply: {
      session: Session;
      endedSessionId: SessionId;
      cancelledRun: RunId | null;
      droppedRuns: RunId[];
    };
  };

  "GET /schedules": {
    request: {
      query?: {
        includeDisabled?: boolean;
        enabled?: "all" | "enabled" | "disabled";
        query?: string;
        sortBy?: "nextRunAtMs" | "updatedAtMs" | "name";
        sortDir?: "asc" | "desc";
        limit?: number;
        offset?: number;
        cursor?: string;
        owner?: string;
        all?: boolean;
      };
    };
    reply: {
      jobs: ScheduleJob[];
      total: number;
      offset: number;
      limit: number;
      hasMore: boolean;
      nextOffset: number | null;
      next: NextCursor;
    };
  };

  "POST /schedules": {
    request: {
      body?: { job?: ScheduleJobInputInput; idempotencyKey?: CredentialName };
      idempotencyKey?: string;
    };
    reply: { job: ScheduleJob };
  };

  "GET /schedules/status": {
    request: { query?: { owner?: string } };
    reply: {
      enabled: boolean;
      jobs: number;
      limit: number;
      nextWakeAtMs: number | null;
      heartbeatMs: number;
    };
  };

  "GET /schedules/runs": {
    request: {
      query?: {
        scope?: "job" | "all";
        jobId?: IfVersion;
        limit?: number;
        offset?: number;
        statuses?: JobRunStatus[];
        deliveryStatuses?: DeliveryStatus[];
        query?: string;
        sortDir?: "asc" | "desc";
        owner?: string;
      };
    };
    reply: {
      entries: ScheduleRun[];
      total: number;
      offset: number;
      limit: number;
      hasMore: boolean;
      nextOffset: number | null;
    };
  };

  "POST /schedules/wake": {
    request: {
      body: {
        text: SteerMessage;
        mode?: "next-heartbeat" | "now";
        agentId?: string;
        sessionKey?: string;
      };
    };
    reply: { ok: true; jobId: ScheduleId };
  };

  "PATCH /schedules/{jobId}": {
    request: { path: { jobId: string }; body?: ScheduleJobPatch; ifMatch?: string };
    reply: { job: ScheduleJob };
  };

  "DELETE /schedules/{jobId}": {
    request: { path: { jobId: string }; query?: { owner?: string }; ifMatch?: string };
    reply: { jobId: ScheduleId; removed: boolean };
  };

  "POST /schedules/{jobId}/run": {
    request: { path: { jobId: string }; body?: { mode?: "due" | "force"; owner?: string } };
    reply: { ran: boolean; reason?: "not-due" | "already-running" | "disabled"; runId?: RunId };
  };

  "GET /schedules/{jobId}": {
    request: { path: { jobId: string }; query?: { owner?: string } };
    reply: { job: ScheduleJob };
  };

  "GET /schedules/{jobId}/runs": {
    request: {
      path: { jobId: string };
      query?: {
        scope?: "job" | "all";
        limit?: number;
        offset?: number;
        statuses?: JobRunStatus[];
        deliveryStatuses?: DeliveryStatus[];
        query?: string;
        sortDir?: "asc" | "desc";
        owner?: string;
      };
    };
    reply: {
      entries: ScheduleRun[];
      total: number;
      offset: number;
      limit: number;
      hasMore: boolean;
      nextOffset: number | null;
    };
  };

  "GET /channels/accounts": {
    request: { query?: { channel?: ChannelName } };
    reply: { accounts: ChannelAccount[]; problems: string[] };
  };

  "GET /channels/{channel}/{accountId}/capabilities": {
    request: { path: { channel: string; accountId: string } };
    reply: { channel: ChannelName; accountId: string; capabilities: Capabilities };
  };

  "POST /channels/{channel}/{accountId}/check": {
    request: { path: { channel: string; accountId: string } };
    reply: {
      channel: ChannelName;
      accountId: string;
      ok: boolean;
      identity: string | null;
      problem: string | null;
    };
  };

  "POST /channels/messages": {
    request: {
      body: {
        text?: string;
        attachments?: Attachment[];
        effectId?: string;
        effectFallback?: "refuse" | "plain";
        silent?: boolean;
        dryRun?: boolean;
        tool?: string;
        runId?: RunId;
        sessionKey?: string;
        idempotencyKey?: CredentialName;
        to: AddressInput;
        replyToMessageId?: ProviderId;
      };
      idempotencyKey?: string;
    };
    reply: {
      kind: "send";
      sendId: SendId;
      address: Address;
      messageIds: string[];
      sentAt: Timestamp | null;
      handledBy: ChannelName;
      dryRun: boolean;
      degraded: string[];
      replayed: boolean;
    };
  };

  "POST /channels/messages/read": {
    request: {
      body: { address: AddressInput; limit?: number; before?: ProviderId; after?: ProviderId };
    };
    reply: { address: Address; messages: ReadMessage[] };
  };

  "POST /channels/{channel}/submit": {
    request: {
      path: { channel: string };
      body: {
        accountId?: string;
        target?: Target;
        threadId?: ProviderId;
        messageId?: ProviderId;
        text: string;
        replyToMessageId?: ProviderId;
        mentionsAccount?: boolean;
      };
    };
    reply: {
      address: Address;
      messageId: string;
      outcome: "stored" | "known" | "ignored";
      reason: string | null;
    };
  };

  "GET /approvals": {
    request: { query?: { pendingOnly?: boolean; runId?: RunId; limit?: number; cursor?: string } };
    reply: { approvals: Approval[]; next: string | null; pending: number; decidesAll?: boolean };
  };

  "GET /approvals/{id}": {
    request: { path: { id: string } };
    reply: { approval: Approval; presentation: Presentation; context?: CallContext | null };
  };

  "POST /approvals/{id}/approve": {
    request: {
      path: { id: string };
      body?: {
        binding?: Digest;
        scope?: "once" | "session";
        reason?: string;
        ttlSeconds?: number;
        maxUses?: number;
        sameArguments?: string[];
      };
    };
    reply: { approval: Approval; grant: SessionGrant | null };
  };

  "POST /approvals/{id}/deny": {
    request: { path: { id: string }; body?: { binding?: Digest; reason?: string } };
    reply: { approval: Approval };
  };

  "POST /approvals/{id}/cancel": {
    request: { path: { id: string }; body?: { reason?: string } };
    reply: { approval: Approval };
  };

  "GET /grants": { request: { query?: { limit?: number } }; reply: { grants: SessionGrant[] } };

  "DELETE /grants/{id}": { request: { path: { id: string } }; reply: { grant: SessionGrant } };

  "GET /tools": {
    request: { query?: { server?: ServerId; findings?: boolean } };
    reply: {
      tools: ToolInfo[];
      failures: { server: ServerId; status: ServerStatus; error: string }[];
      instructions?: string;
    };
  };

  "GET /tools/builtin": { request: {}; reply: { tools: BuiltinInfo[] } };

  "POST /tools/builtin/{tool}/call": {
    request: {
      path: { tool: string };
      body: { args: { [name: string]: unknown }; callId?: CallId; approvalId?: ApprovalId };
      idempotencyKey?: string;
    };
    reply: {
      content: ContentBlock[];
      structuredContent?: unknown;
      isError: boolean;
      text: string;
      decision: Decision;
      durationMs: number;
      replayed: boolean;
    };
  };

  "POST /tools/builtin/cancel": {
    request: { body: { callId: CallId } };
    reply: { cancelled: boolean };
  };

  "POST /tools/mcp/{server}/{tool}/call": {
    request: {
      path: { server: string; tool: string };
      body: {
        args: { [name: string]: unknown };
        callId?: CallId;
        approvalId?: ApprovalId;
        _meta?: CallMeta;
      };
      idempotencyKey?: string;
    };
    reply: {
      content: ContentBlock[];
      structuredContent?: unknown;
      _meta?: { [name: string]: unknown };
      isError: boolean;
      text: string;
      decision: Decision;
      durationMs: number;
      replayed: boolean;
    };
  };

  "GET /mcp/tools": {
    request: { query?: { server?: ServerId; findings?: boolean } };
    reply: {
      tools: ToolInfo[];
      failures: { server: ServerId; status: ServerStatus; error: string }[];
      instructions?: string;
    };
  };

  "GET /mcp/tools/{server}": {
    request: { path: { server: string }; query?: { id?: ServerId; findings?: boolean } };
    reply: {
      tools: ToolInfo[];
      failures: { server: ServerId; status: ServerStatus; error: string }[];
      instructions?: string;
    };
  };

  "GET /mcp/questions": {
    request: { query?: { server?: ServerId; pendingOnly?: boolean } };
    reply: { questions: Question[] };
  };

  "POST /mcp/questions/{id}/answer": {
    request: {
      path: { id: string };
      body: { action: "accept" | "decline" | "cancel"; content?: AnswerContent };
    };
    reply: { question: Question };
  };

  "GET /mcp/servers": { request: {}; reply: { servers: ServerInfo[] } };

  "POST /mcp/servers": {
    request: { body?: { [name: string]: unknown } };
    reply: { server: ServerInfo };
  };

  "GET /mcp/servers/{id}": {
    request: { path: { id: string } };
    reply: {
      server: ServerInfo;
      declaration: { [name: string]: unknown };
      updatedAt: Timestamp | null;
      version?: string;
    };
  };

  "PATCH /mcp/servers/{id}": {
    request: { path: { id: string }; body?: { [name: string]: unknown }; ifMatch?: string };
    reply: { server: ServerInfo; version?: string };
  };

  "PUT /mcp/servers/{id}": {
    request: { path: { id: string }; body?: { [name: string]: unknown }; ifMatch?: string };
    reply: { server: ServerInfo; version?: string };
  };

  "DELETE /mcp/servers/{id}": {
    request: { path: { id: string }; ifMatch?: string };
    reply: { removed: true; server: string };
  };

  "POST /mcp/servers/{id}/connect": {
    request: { path: { id: string } };
    reply: { server: ServerInfo };
  };

  "POST /mcp/servers/{id}/disconnect": {
    request: { path: { id: string } };
    reply: { server: ServerInfo | null };
  };

  "POST /mcp/servers/{id}/enable": {
    request: { path: { id: string }; body: { enabled: boolean } };
    reply: { server: ServerInfo };
  };

  "POST /mcp/servers/{id}/reset": {
    request: { path: { id: string } };
    reply: { server: ServerInfo };
  };

  "GET /mcp/servers/{id}/logs": {
    request: { path: { id: string }; query?: { tail?: number } };
    reply: { lines: string[]; hasProcess?: boolean };
  };

  "POST /mcp/servers/{id}/refresh": {
    request: { path: { id: string } };
    reply: { toolCount: number };
  };

  "GET /mcp/servers/{id}/pins": {
    request: {
      path: { id: string };
      query?: { states?: PinState[]; limit?: number; after?: PromptName };
    };
    reply: { pins: ToolPin[]; more: boolean };
  };

  "POST /mcp/servers/{id}/pins/approve": {
    request: {
      path: { id: string };
      body?: {
        tools?: { tool: PromptName; digest?: Digest }[];
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
    reply: { approved: number };
  };

  "POST /mcp/servers/{id}/pins/block": {
    request: { path: { id: string }; body: { tools: PromptName[] } };
    reply: { blocked: number };
  };

  "GET /mcp/servers/{id}/pins/{tool}/diff": {
    request: { path: { id: string; tool: string } };
    reply: {
      pin: ToolPin;
      identityChanged: boolean;
      isReworded?: boolean;
      differences: PinDifference[];
      omitted: number;
    };
  };

  "POST /mcp/servers/{id}/login": {
    request: { path: { id: string }; body: { redirectUri: string } };
    reply: { authorizationUrl: string; state: string; expiresAt: Timestamp };
  };

  "POST /mcp/servers/{id}/login/finish": {
    request: { path: { id: string }; body: { state: CredentialName; code: string; iss?: string } };
    reply: { server: ServerInfo };
  };

  "DELETE /mcp/servers/{id}/login": {
    request: { path: { id: string } };
    reply: { server: ServerInfo; wasLoggedIn: boolean; revocation: LoginRevocation | null };
  };

  "GET /mcp/servers/{id}/messages": {
    request: { path: { id: string }; query?: { tail?: number } };
    reply: { messages: ServerMessage[]; dropped: number };
  };

  "POST /mcp/servers/{id}/log-level": {
    request: { path: { id: string }; body: { level: LogLevel } };
    reply: { level: LogLevel };
  };

  "GET /mcp/servers/{id}/resources": {
    request: { path: { id: string } };
    reply: { resources: ResourceInfo[]; more: boolean };
  };

  "GET /mcp/servers/{id}/resource-templates": {
    request: { path: { id: string } };
    reply: { templates: ResourceTemplateInfo[]; more: boolean };
  };

  "POST /mcp/servers/{id}/resources/read": {
    request: { path: { id: string }; body: { uri: ResourceUri } };
    reply: { contents: ResourceContent[]; _meta?: { [name: string]: unknown }; decision: Decision };
  };

  "GET /mcp/servers/{id}/prompts": {
    request: { path: { id: string } };
    reply: { prompts: PromptInfo[]; more: boolean };
  };

  "POST /mcp/servers/{id}/prompts/{name}": {
    request: { path: { id: string; name: string }; body?: { args?: { [name: string]: string } } };
    reply: {
      description: string | null;
      messages: PromptMessage[];
      _meta?: { [name: string]: unknown };
      decision: Decision;
    };
  };

  "GET /mcp": { request: {}; reply: { servers: ServerInfo[] } };

  "POST /mcp": { request: { body?: { [name: string]: unknown } }; reply: { server: ServerInfo } };

  "PUT /mcp/{id}": {
    request: { path: { id: string }; body?: { [name: string]: unknown }; ifMatch?: string };
    reply: { server: ServerInfo; version?: string };
  };

  "DELETE /mcp/{id}": {
    request: { path: { id: string }; ifMatch?: string };
    reply: { removed: true; server: string };
  };

  "POST /mcp/{id}/connect": { request: { path: { id: string } }; reply: { server: ServerInfo } };

  "POST /mcp/{id}/disconnect": {
    request: { path: { id: string } };
    reply: { server: ServerInfo | null };
  };

  "GET /mcp/{id}/tools": {
    request: { path: { id: string }; query?: { findings?: boolean } };
    reply: {
      tools: ToolInfo[];
      failures: { server: ServerId; status: ServerStatus; error: string }[];
      instructions?: string;
    };
  };

  "GET /skills": { request: {}; reply: { skills: SkillSummary[] } };

  "POST /skills": {
    request: {
      body: {
        label: string;
        dryRun?: boolean;
        git?: { url: string | null; commit: string | null } | null;
        withReports?: boolean;
        importId?: string;
        targets?: SkillTarget[];
        skills: SentSkill[];
      };
    };
    reply: { counts: ImportCounts; skills: ImportedSkill[]; diagnostics: Diagnostic[] };
  };

  "POST /skills/archive": {
    request:
      | {
          body: {
            label: string;
            dryRun?: boolean;
            git?: { url: string | null; commit: string | null } | null;
            withReports?: boolean;
            importId?: string;
            targets?: SkillTarget[];
            format: "zip" | "tar.gz" | "tar";
            base64?: string;
            only?: string[];
          };
        }
      | {
          query: Omit<
            {
              label: string;
              dryRun?: boolean;
              git?: { url: string | null; commit: string | null } | null;
              withReports?: boolean;
              importId?: string;
              targets?: SkillTarget[];
              format: "zip" | "tar.gz" | "tar";
              base64?: string;
              only?: string[];
            },
            "base64"
          >;
          attachment: Blob;
        };
    reply: { counts: ImportCounts; skills: ImportedSkill[]; diagnostics: Diagnostic[] };
  };

  "POST /skills/import": {
    request: { body: { directory: string; dryRun?: boolean } };
    reply: {
      skills: { found: number; loaded: number; skipped: number; repaired?: number };
      agents: { found: number; loaded: number; skipped: number };
      diagnostics: Diagnostic[];
    };
  };

  "POST /skills/check": {
    request: {
      body: { directory: string; targets?: SkillTarget[]; offset?: number; limit?: number };
    };
    reply: {
      files: CheckedSkill[];
      total: number;
      diagnostics: Diagnostic[];
      nextOffset: number | null;
    };
  };

  "GET /skills/withheld": {
    request: {};
    reply: {
      withheld: {
        kind: "skill" | "agent";
        name: string;
        description: string;
        version: Digest;
        reason: WithheldReason;
        root: string;
        file: string;
      }[];
    };
  };

  "POST /skills/trust": {
    request: { body: { kind?: "skill" | "agent"; name: string; version: Digest; reason?: string } };
    reply: { name: string; version: Digest; was: WithheldReason };
  };

  "GET /skills/catalogue": {
    request: {
      query?: { contextWindow?: number; budgetTokens?: number; about?: string; without?: string[] };
    };
    reply: SkillCatalogue;
  };

  "GET /skills/matches": {
    request: { query: { text: string; limit?: number; modelInvocableOnly?: boolean } };
    reply: {
      matches: {
        name: string;
        description: string;
        digest: Digest;
        score: number;
        terms: string[];
      }[];
      searched: number;
    };
  };

  "GET /skills/manifests": {
    request: {
      query?: {
        name?: string;
        source?: "openclaw" | "agent-skills";
        offset?: number;
        limit?: number;
      };
    };
    reply: { skills: RegisteredSkill[]; total: number; nextOffset: number | null };
  };

  "GET /skills/{name}": {
    request: { path: { name: string }; query?: { digest?: Digest; version?: Digest } };
    reply: {
      skill: Skill;
      review?: VersionReview;
      variables?: string[];
      conformance?: Conformance[];
      dependencies?: SkillDependencies | null;
    };
  };

  "DELETE /skills/{name}": {
    request: { path: { name: string }; ifMatch?: string };
    reply: { name: string; version: Digest };
  };

  "GET /skills/{name}/versions": {
    request: { path: { name: string } };
    reply: {
      current: Digest | null;
      withheld: { version: Digest; reason: WithheldReason } | null;
      versions: SkillVersion[];
    };
  };

  "GET /skills/{name}/diff": {
    request: { path: { name: string }; query?: { from?: Digest; to?: Digest } };
    reply: {
      from: Digest;
      to: Digest;
      text: string;
      files: { added: string[]; removed: string[]; changed: string[] };
      capabilities: Changes;
      findings: Changes;
    };
  };

  "GET /skills/{name}/file": {
    request: {
      path: { name: string };
      query: { version?: Digest; path: PromptName; offset?: number; limit?: number };
    };
    reply: {
      version: Digest;
      path: string;
      sizeBytes: number;
      digest: Digest;
      base64: string;
      nextOffset: number | null;
    };
  };

  "GET /skills/{name}/instructions": {
    request: {
      path: { name: string };
      query?: { digest?: Digest; arguments?: string; sessionId?: RunId; raw?: boolean };
    };
    reply: {
      name: string;
      digest: Digest;
      text: string;
      allowedTools: string[] | null;
      disallowedTools?: string[];
      plan: Plan | null;
      warnings: string[];
    };
  };

  "POST /skills/{name}/rollback": {
    request: { path: { name: string }; body?: { version?: Digest }; ifMatch?: string };
    reply: { name: string; version: Digest; before: Digest | null };
  };

  "GET /openclaw/skills": { request: {}; reply: { skills: SkillSummary[] } };

  "POST /openclaw/import": {
    request: { body: { path: string; dryRun?: boolean } };
    reply: {
      skills: { found: number; loaded: number; skipped: number; repaired?: number };
      agents: { found: number; loaded: number; skipped: number };
      diagnostics: Diagnostic[];
    };
  };

  "POST /openclaw/import-directory": {
    request: { body: { dirPath: string; dryRun?: boolean } };
    reply: {
      skills: { found: number; loaded: number; skipped: number; repaired?: number };
      agents: { found: number; loaded: number; skipped: number };
      diagnostics: Diagnostic[];
    };
  };

  "GET /openclaw/skills/{id}/instructions": {
    request: {
      path: { id: string };
      query?: { digest?: Digest; arguments?: string; sessionId?: RunId; raw?: boolean };
    };
    reply: {
      name: string;
      digest: Digest;
      text: string;
      allowedTools: string[] | null;
      disallowedTools?: string[];
      plan: Plan | null;
      warnings: string[];
    };
  };

  "DELETE /openclaw/skills/{id}": {
    request: { path: { id: string }; ifMatch?: string };
    reply: { name: string; version: Digest };
  };

  "GET /agents": { request: {}; reply: { agents: AgentSummary[] } };

  "POST /agents": {
    request: {
      body: {
        label: string;
        dryRun?: boolean;
        git?: { url: string | null; commit: string | null } | null;
        withReports?: boolean;
        importId?: string;
        files: SentFile[];
      };
    };
    reply: { counts: AgentImportCounts; agents: ImportedAgent[]; diagnostics: Diagnostic[] };
  };

  "POST /agents/archive": {
    request:
      | {
          body: {
            label: string;
            dryRun?: boolean;
            git?: { url: string | null; commit: string | null } | null;
            withReports?: boolean;
            importId?: string;
            format: "zip" | "tar.gz" | "tar";
            base64?: string;
          };
        }
      | {
          query: Omit<
            {
              label: string;
              dryRun?: boolean;
              git?: { url: string | null; commit: string | null } | null;
              withReports?: boolean;
              importId?: string;
              format: "zip" | "tar.gz" | "tar";
              base64?: string;
            },
            "base64"
          >;
          attachment: Blob;
        };
    reply: { counts: AgentImportCounts; agents: ImportedAgent[]; diagnostics: Diagnostic[] };
  };

  "POST /agents/check": {
    request: { body: { files: { file: string; text: string }[] } };
    reply: {
      files: {
        file: string;
        verdict: "loads" | "skipped" | "not_an_agent";
        agent: AgentDefinition | null;
        diagnostics: Diagnostic[];
      }[];
    };
  };

  "GET /agents/{name}": {
    request: { path: { name: string }; query?: { digest?: Digest; version?: Digest } };
    reply: {
      agent: AgentDefinition;
      review?: VersionReview;
      provenance?: Provenance;
      keepForMs?: KeepForMs;
    };
  };

  "DELETE /agents/{name}": {
    request: { path: { name: string }; ifMatch?: string };
    reply: { name: string; digest: Digest; current: Digest | null };
  };

  "GET /agents/{name}/versions": {
    request: { path: { name: string } };
    reply: {
      current: Digest | null;
      withheld: { digest: Digest; reason: WithheldReason } | null;
      versions: AgentVersion[];
    };
  };

  "GET /agents/{name}/diff": {
    request: { path: { name: string }; query?: { from?: Digest; to?: Digest } };
    reply: { from: Digest; to: Digest; text: string; capabilities: Changes; findings: Changes };
  };

  "POST /agents/{name}/rollback": {
    request: { path: { name: string }; body?: { digest?: Digest }; ifMatch?: string };
    reply: { name: string; digest: Digest; before: Digest | null };
  };

  "POST /policy/explain": {
    request: {
      body: {
        user: string;
        agent?: string;
        roles?: string[];
        context?: RunContext;
        approval?: ApprovalTier;
        toolLayers?: string[][];
        server?: ServerFacts;
        runId?: RunId;
        tool: ToolRef;
        args: { [name: string]: unknown };
      };
    };
    reply: {
      decision: Decision;
      principal: Principal;
      tool: ToolRef;
      labels?: string[];
      limits?: ConsideredLimit[];
      considered: ConsideredRule[];
      omitted: number;
      nearest: { rule: string; failed: RuleMismatch[] } | null;
    };
  };

  "POST /policy/validate": {
    request: { body?: { bundleText?: string; testsText?: string; files?: PolicyFiles } };
    reply: {
      valid: boolean;
      policyDigest: Digest | null;
      rules: number;
      problems: PolicyProblem[];
      tests: PolicyTestResult[];
      findings: LintFinding[];
    };
  };

  "POST /policy/replay": {
    request: { body: { files?: PolicyFiles; decisions: RecordedDecisionInput[] } };
    reply: { policyDigest: Digest | null; problems: PolicyProblem[]; results: ReplayedDecision[] };
  };

  "POST /policy/who-can": {
    request: { body: { tool: ToolRef; labels?: string[] } };
    reply: {
      tool: ToolRef;
      policyDigest: Digest;
      reach: ToolReach[];
      deniedBy: string[];
      omitted: number;
    };
  };

  "GET /policy/rules": {
    request: { query?: { after?: string; limit?: number } };
    reply: { policyDigest: Digest; rules: PolicyRule[]; next: string | null };
  };

  "GET /policy/versions": {
    request: {};
    reply: {
      policyDigest: Digest;
      followsFiles: boolean;
      filesRefused?: string[] | null;
      versions: PolicyVersion[];
    };
  };

  "GET /policy/texts": {
    request: {};
    reply: { version: number; policyDigest: Digest; files: PolicyFiles };
  };

  "POST /policy/activate": {
    request: {
      body?: { files?: PolicyFiles; version?: number; followFiles?: true; note?: string };
      ifMatch?: string;
    };
    reply: { active: PolicyVersion; previous: PolicyVersion | null };
  };

  "POST /policy/rollback": {
    request: { body?: { note?: string }; ifMatch?: string };
    reply: { active: PolicyVersion; previous: PolicyVersion | null };
  };

  "GET /policy/stops": { request: {}; reply: { stops: Stop[] } };

  "POST /policy/stops": {
    request: { body: { scope: StopScope; reason: string } };
    reply: { stop: Stop };
  };

  "POST /policy/stops/resume": {
    request: { body: { scope: StopScope } };
    reply: { resumed: boolean };
  };

  "GET /policy/token-keys": {
    request: {};
    reply: {
      keys: { kid: string; use: TokenKeyUse; revoked: boolean }[];
      publicKeys?: { kid: string; x: string }[];
    };
  };

  "GET /audit": {
    request: {
      query?: {
        since?: Timestamp;
        until?: Timestamp;
        kind?: string;
        user?: string;
        runId?: RunId;
        tool?: string;
        order?: "newest" | "oldest";
        cursor?: string;
        limit?: number;
      };
    };
    reply: { records: AuditedRecord[]; cursor: string | null };
  };

  "GET /audit/verify": {
    request: { query?: { since?: Timestamp } };
    reply: {
      isIntact: boolean;
      records: number;
      chains: number;
      executions: number;
      proven: number;
      sealed?: number;
      problems: string[];
    };
  };

  "GET /keys": { request: {}; reply: { keys: UserKey[] } };

  "POST /keys": {
    request: {
      body: {
        caller: string;
        roles: UserRoles;
        scopes?: UserScopes;
        note?: string;
        ttlSeconds?: number;
      };
    };
    reply: { key: string; info: UserKey };
  };

  "POST /keys/{id}/rotate": {
    request: { path: { id: string }; body?: { overlapSeconds?: number; ttlSeconds?: number } };
    reply: { key: string; info: UserKey };
  };

  "DELETE /keys/{id}": { request: { path: { id: string } }; reply: { info: UserKey } };

  "GET /user-sessions": {
    request: { query?: { user?: string } };
    reply: { sessions: UserSession[] };
  };

  "DELETE /user-sessions/{id}": { request: { path: { id: string } }; reply: { info: UserSession } };

  "GET /webhooks": {
    request: {};
    reply: {
      webhooks: {
        id: string;
        url: string;
        events: string[];
        agent: string | null;
        createdAt: Timestamp;
        status: "enabled" | "disabled";
        reason: "failing" | "backlog" | "gone" | null;
        failingSince: Timestamp | null;
        lastError: string | null;
        version: string;
      }[];
    };
  };

  "POST /webhooks": {
    request: { body: { url: string; events: string[]; agent?: string } };
    reply: {
      webhook: {
        id: string;
        url: string;
        events: string[];
        agent: string | null;
        createdAt: Timestamp;
        status: "enabled" | "disabled";
        reason: "failing" | "backlog" | "gone" | null;
        failingSince: Timestamp | null;
        lastError: string | null;
        version: string;
      };
      secret: string;
    };
  };

  "GET /webhooks/{id}": {
    request: { path: { id: string } };
    reply: {
      webhook: {
        id: string;
        url: string;
        events: string[];
        agent: string | null;
        createdAt: Timestamp;
        status: "enabled" | "disabled";
        reason: "failing" | "backlog" | "gone" | null;
        failingSince: Timestamp | null;
        lastError: string | null;
        version: string;
      };
      pending: number;
      dead: { deliveryId: string; event: string; at: Timestamp; attempts: number; error: string }[];
    };
  };

  "PATCH /webhooks/{id}": {
    request: {
      path: { id: string };
      body?: { url?: string; events?: string[]; agent?: string | null };
      ifMatch?: string;
    };
    reply: {
      webhook: {
        id: string;
        url: string;
        events: string[];
        agent: string | null;
        createdAt: Timestamp;
        status: "enabled" | "disabled";
        reason: "failing" | "backlog" | "gone" | null;
        failingSince: Timestamp | null;
        lastError: string | null;
        version: string;
      };
    };
  };

  "DELETE /webhooks/{id}": {
    request: { path: { id: string } };
    reply: { id: string; removed: true };
  };

  "POST /webhooks/{id}/redeliver": {
    request: { path: { id: string }; body?: { deliveryId?: string } };
    reply: {
      webhook: {
        id: string;
        url: string;
        events: string[];
        agent: string | null;
        createdAt: Timestamp;
        status: "enabled" | "disabled";
        reason: "failing" | "backlog" | "gone" | null;
        failingSince: Timestamp | null;
        lastError: string | null;
        version: string;
      };
      redelivered: number;
    };
  };

  "GET /hooks": {
    request: {};
    reply: {
      hooks: {
        name: string;
        agent: string;
        signature: "standard" | "github";
        events: string[] | null;
      }[];
    };
  };

  "GET /models": { request: {}; reply: { default: ModelName; providers: ModelProvider[] } };
}

/** The events of a run by name. `delta` is live text; a stored event has the whole text later. */

export interface RunEvents {
  rejected: {
    runId: RunId;
    subject: string;
    caller: string;
    code: string;
    message: string;
    problems: string[];
    streamSequence: number;
    messageId: string | null;
    at: Timestamp;
  };

  queued: {
    runId: RunId;
    at: Timestamp;
    sessionId: SessionId;
    sessionKey: string;
    position: number;
  };

  delayed: { runId: RunId; at: Timestamp; reason: string };

  merged: { runId: RunId; at: Timestamp; sessionId: SessionId; sessionKey: string; into: RunId };

  started: {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    agent: string;
    agentDigest: Digest;
    policyDigest?: Digest;
    requester: string;
    model: ModelName;
    labels: { [name: string]: string };
    parent?: { runId: RunId; callId: string };
    forkedFrom?: { runId: RunId; fromStep: number };
    replayed?: boolean;
    session?: { sessionId: SessionId; key: string };
  };

  resumed: {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    attempt: number;
    journalEntries: number;
  };

  "tools-unavailable": {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    servers: UnavailableServer[];
  };

  "skill-activated": {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    skill: string;
    digest: Digest;
  };

  "model-responded": {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    step: number;
    model: ModelName;
    text: string;
    toolCalls: number;
    usage: Usage;
    durationMs: number;
    costUsd?: number | null;
    passedOver?: { model: ModelName; message: string }[];
  };

  "tool-requested": {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    step: number;
    callId: string;
    tool: string;
    argsPreview: string;
    argsDigest: Digest;
  };

  "tool-completed": {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    step: number;
    callId: string;
    tool: ToolName;
    isError: boolean;
    decision: Decision | null;
    preview: string;
    textBytes: number;
    durationMs: number;
    replayed: boolean;
  };

  "tool-denied": {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    step: number;
    callId: string;
    tool: string;
    decision: Decision;
  };

  "tool-failed": {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    step: number;
    callId: string;
    tool: string;
    code: string;
    message: string;
  };

  finished: {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    output: string;
    model: ModelName;
    steps: number;
    toolCalls: number;
    usage: Usage;
    durationMs: number;
    costUsd?: number | null;
  };

  failed: {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    failure: RunFailure;
    steps: number;
    costUsd?: number | null;
    usage?: Usage;
  };

  cancelled: {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    by: string;
    reason: PromptName | null;
    steps: number;
    costUsd?: number | null;
    usage?: Usage;
  };

  retried: {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    by: string;
    limits: {
      maxSteps: number;
      maxToolCalls: number | null;
      maxTokens?: number;
      maxCostUsd?: number;
      maxRepeatedCalls?: number;
      timeoutMs: number;
      onLimit?: OnLimit;
    };
    streamSequence: number;
  };

  "limits-changed": {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    by: string;
    limits: {
      maxSteps: number;
      maxToolCalls: number | null;
      maxTokens?: number;
      maxCostUsd?: number;
      maxRepeatedCalls?: number;
      timeoutMs: number;
      onLimit?: OnLimit;
    };
    streamSequence: number;
  };

  waiting: {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    waits: RunWait[];
    until: Timestamp | null;
  };

  woken: {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    attempt: number;
  };

  "question-requested": {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    callId: string;
    question: string;
    options: string[];
    schema?: { [name: string]: unknown };
    until: Timestamp;
  };

  "question-answered": {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    callId: string;
    by: string;
  };

  "child-started": {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    callId: string;
    childRunId: RunId;
    agent: string;
  };

  "child-ended": {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    callId: string;
    childRunId: RunId;
    status: string;
  };

  steered: {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    by: string;
    preview: string;
    streamSequence?: number;
  };

  dead: {
    runId: RunId;
    seq: number;
    at: Timestamp;
    abridged?: { field: string; bytes: number; digest: Digest }[];
    failure: RunFailure;
    steps: number;
    costUsd?: number | null;
    usage?: Usage;
  };

  delta: { runId: RunId; step: number; delta: string; kind?: "delta" | "reset-step" };
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
