import { isOfFamily } from "./redis-rows.ts";

/** The growth of a kind of key that a caller can cause. */
export interface RedisBound {
  /** Patterns of the keys, with `*` for any text. */
  readonly keys: readonly string[];
  /** The limit of its size. */
  readonly bound: string;
  /** The part of the system that deletes it, and the time. */
  readonly freedBy: string;
}

/** The bytes are in the owner's account (libs/service/src/owner-storage.ts), and new work is refused with `storage_full` above its limit. */
const COUNTED = "counted for its owner";
const WITH_RUN = "Redis, YARD_RUN_KEEP_DAYS (30) after the run's last change";
const BY_INSTALLATION = "a fixed number for each server, account or service of the installation";

/** Each kind of key that services have in Redis, with its bound. A kind that is not listed fails the test beside it. */
export const redisBounds: readonly RedisBound[] = [
  // Runs: inputs, results, journals, blobs.
  {
    keys: ["yard:run:{*}:state", "yard:run:{*}:journal", "yard:run:{*}:blobs"],
    bound: COUNTED,
    freedBy: WITH_RUN,
  },
  {
    keys: ["yard:run:{*}:cancels"],
    bound: "a request of at most 512 characters for each caller that may cancel the run",
    freedBy: "Redis, a day after the request or 30 days after the run's last change",
  },
  {
    keys: ["yard:run:{*}:deleted"],
    bound: COUNTED,
    freedBy: "Redis, when the run would have been deleted anyway, and not before 7 days",
  },
  {
    keys: ["yard:run:{*}:claim"],
    bound: "one short text for each start",
    freedBy: "Redis, after 5 minutes",
  },
  {
    keys: ["yard:run:{*}:tool-epoch"],
    bound: "a number for each run that calls tools",
    freedBy: "Redis, a day after the last call",
  },
  {
    keys: ["yard:run:{*}:masks"],
    bound: `${COUNTED}; 1,000 values for each run`,
    freedBy: "Redis, 30 days after the last value",
  },
  {
    keys: [
      "yard:runs",
      "yard:runs:of:*",
      "yard:runs:parked",
      "yard:runs:dead",
      "yard:runs:left",
      "yard:runs:retried",
      "yard:runs:texts",
      "yard:runs:ended",
      "yard:runs:deleted",
    ],
    bound: "one id for each run, whose bytes its run counts",
    freedBy: "the runners' sweeper, when the run is gone",
  },
  {
    keys: ["yard:runs:archive:*", "yard:runs:archived"],
    bound: "one reference for each object of up to 200 runs, or of 4 MiB, and three notes for each",
    freedBy: "Redis and the runners' sweeper, with the last run of the object",
  },
  {
    keys: ["yard:runs:events"],
    bound: "10,000 events in all; runs wait above",
    freedBy: "the runners, when the stream has them on disk",
  },
  { keys: ["yard:runs:compared", "yard:runs:sweeper"], bound: "one value", freedBy: "not needed" },
  {
    keys: ["yard:runs:letters", "yard:runs:letters:texts"],
    bound: "1,000 dead commands, texts of at most 64 KiB",
    freedBy: "the runners, after 30 days or when there are more",
  },
  {
    keys: ["yard:runs:letters:sent:*"],
    bound: "one number for each dead command",
    freedBy: "Redis, after 30 days",
  },
  {
    keys: ["yard:command:*:runners", "yard:command:*:runners:early"],
    bound: "ids of runners for each command, of which each caller has a queue of limited size",
    freedBy: "Redis, after a day",
  },
  {
    keys: ["yard:command:{kept}", "yard:command:kept:{*}"],
    bound: `${COUNTED}; a number for each owner and in all`,
    freedBy: "the runner that carries the command out; Redis, after 30 days",
  },
  {
    keys: ["yard:file:*"],
    bound: "two short texts for each file, which counts 16 KiB or more of YARD_FILES_MIB",
    freedBy: "Redis, 60 days after it was stored",
  },
  {
    keys: ["yard:limit:{*}"],
    bound: "a few numbers for each model provider",
    freedBy: "Redis, minutes after the last call",
  },
  {
    keys: ["yard:team:{*}*"],
    bound: "numbers for each team, and for each of its runs",
    freedBy: "Redis, after 45 days",
  },
  {
    keys: ["yard:session:{*}:state", "yard:session:{*}:history"],
    bound: `${COUNTED}; histories have a size of their own`,
    freedBy: "the owner's delete; the runners' sweeper, when a session is unused for long",
  },
  {
    keys: ["yard:session:{*}:commands"],
    bound: `${COUNTED}, with its session`,
    freedBy: "the run that takes the command; the session's end",
  },
  {
    keys: ["yard:sessions:all", "yard:sessions:due", "yard:sessions:of:*"],
    bound: "one id for each session, whose bytes its session counts",
    freedBy: "the session's end",
  },
  // Tool providers.
  { keys: ["yard:call:{*}*"], bound: COUNTED, freedBy: "Redis, after a day" },
  {
    keys: ["yard:{agent:*}:memory"],
    bound: `${COUNTED}; 500 names, also for the memory that all owners share`,
    freedBy: "the agent that forgets a name",
  },
  // Policy.
  {
    keys: ["yard:approval:{*}"],
    bound: `${COUNTED}; a number of pending ones for each user`,
    freedBy: "Redis, 7 days after its end",
  },
  {
    keys: ["yard:{approvals}:all", "yard:{approvals}:due", "yard:{approvals}:pending*"],
    bound: "50,000 entries in the index; pending ones as above",
    freedBy: "the policy, with each new or decided approval",
  },
  {
    keys: ["yard:approval-last:{*}"],
    bound: `${COUNTED}, with the approval`,
    freedBy: "Redis, after 30 days",
  },
  {
    keys: ["yard:approval-prompts:{*}"],
    bound: "a number for each run or user",
    freedBy: "Redis, after the window of the limit",
  },
  {
    keys: ["yard:grant:{*}", "yard:{grants}:all"],
    bound: "one for each approval that a person gives for a session",
    freedBy: "Redis, when the grant ends; the policy, with the next list",
  },
  {
    keys: ["yard:policy:{budget:*}*"],
    bound: "a number for each rule and subject, 100,000 different calls for each",
    freedBy: "Redis, after the rule's window",
  },
  {
    keys: ["yard:policy:{windows}:*"],
    bound: "100 windows in a policy, 10,000 calls in each for one owner",
    freedBy: "the next call in the window; Redis, after the window",
  },
  {
    keys: ["yard:policy:{flow:*}", "yard:policy:{reservation:*}"],
    bound: "names of labels or rules for each run or call",
    freedBy: "Redis, after the run's time or minutes after the call",
  },
  {
    keys: ["yard:policy:{stops}", "yard:policy:{bundle}:*"],
    bound: "written by operators, a limited number of stops and versions",
    freedBy: "the operator; the policy, for old versions",
  },
  {
    keys: ["yard:{user-keys}:keys", "yard:{user-keys}:ends"],
    bound: "10,000 keys, which an admin makes",
    freedBy: "the admin's revocation",
  },
  {
    keys: ["yard:{user-keys}:session:*", "yard:{user-keys}:sessions-of:*"],
    bound: "50 sessions of browsers for each caller",
    freedBy: "the sign-out; Redis, when they end",
  },
  {
    keys: [
      "yard:{user-keys}:chat-link:*",
      "yard:{user-keys}:chat-links",
      "yard:{user-keys}:chat-code:*",
      "yard:{user-keys}:chat-code-of:*",
      "yard:{user-keys}:chat-code-used:*",
    ],
    bound: "a code for each caller; a link for each person that has used one",
    freedBy: "the caller's revocation; Redis, when they end",
  },
  // Broker.
  {
    keys: [
      "yard:{mcp}:secrets",
      "yard:{mcp}:servers",
      "yard:{mcp}:servers-version",
      "yard:{mcp}:brokers",
      "yard:{mcp}:move",
      "yard:{mcp}:era:*",
      "yard:{mcp}:login:*",
      "yard:{mcp}:login-lock:*",
      "yard:{mcp:*}:lease",
      "yard:{mcp:*}:epoch",
      "yard:{mcp:*}:pins",
      "yard:{mcp:*}:pin-definitions",
    ],
    bound: BY_INSTALLATION,
    freedBy: "the admin that removes the server; Redis, for leases and locks",
  },
  {
    keys: ["yard:{mcp}:login-pending:*"],
    bound: "one for each sign-in that an admin begins",
    freedBy: "Redis, minutes later",
  },
  {
    keys: ["yard:{mcp:*}:subscriptions"],
    bound: "200 resources for each server",
    freedBy: "the caller, or the broker a day later; Redis, two days after the last change",
  },
  {
    keys: ["yard:{mcp:questions}:*"],
    bound: "8 open questions for each caller",
    freedBy: "the answer, or the question's end",
  },
  // Channels.
  {
    keys: ["yard:{channels}:inbound:*", "yard:{channels}:send:*", "yard:{channels}:mailbox:*"],
    bound: `${COUNTED}; 1,000 messages in a mailbox`,
    freedBy: "Redis, 7 days after the message; one that was sent a day after",
  },
  {
    keys: ["yard:{channels}:said:*"],
    bound: "a digest for each message of a run that was sent, whose bytes the message counts",
    freedBy: "Redis, a day after the last one",
  },
  {
    keys: ["yard:{channels}:inbound:work", "yard:{channels}:sends:open"],
    bound: "one id for each message in work, whose bytes the message counts",
    freedBy: "the channels service, when the message is handled",
  },
  {
    keys: ["yard:{channels}:last:*", "yard:{channels}:conversation:*"],
    bound: "an address for each caller; ids of messages that are in work, whose bytes they count",
    freedBy: "the channels service, when a message is handled; an address stays",
  },
  {
    keys: ["yard:{channels}:lease:*", "yard:{channels}:epoch:*", "yard:{channels}:cursor:*"],
    bound: BY_INSTALLATION,
    freedBy: "not needed",
  },
  {
    keys: [
      "yard:{channels}:prompt:*",
      "yard:{channels}:prompts-of:*",
      "yard:{channels}:prompts:due",
      "yard:{channels}:prompt-pressed:*",
      "yard:{channels}:questions-at:*",
    ],
    bound:
      "a message for each approval or question and chat that is asked, whose numbers approvals and runs bound",
    freedBy: "Redis, 7 days after the time to decide",
  },
  // Gateway.
  {
    keys: ["yard:gateway:rate:*"],
    bound: "a number for each credential or address of a stranger",
    freedBy: "Redis, after the window of the limit",
  },
  {
    keys: ["yard:gateway:{accepted:*}:*", "yard:gateway:{idempotency:*}:*"],
    bound:
      "for each caller 5,000 started runs of about 1 KiB, and 10,000 answers to commands, each an id",
    freedBy: "Redis, a day after the last one",
  },
  {
    keys: ["yard:gateway:login:*"],
    bound: "one record for each sign-in that begins, limited for each address",
    freedBy: "Redis, minutes later",
  },
  {
    keys: ["yard:gateway:{webhooks}:*"],
    bound: `${COUNTED}; 1,000 deliveries or 4 MiB pending for each webhook, 100 dead ones or 1 MiB; 10 browsers of a user for web push, of 4 KiB at most`,
    freedBy:
      "the delivery; the owner that removes the webhook, or turns web push off; the next note after the browser's session has ended",
  },
  // Scheduler.
  {
    keys: [
      "yard:{schedules}:job:*",
      "yard:{schedules}:log:*",
      "yard:{schedules}:entries:*",
      "yard:{schedules}:messages:*",
      "yard:{schedules}:added:*",
      "yard:{schedules}:heartbeat:*",
    ],
    bound: `${COUNTED}; a number of jobs for each owner, 200 entries and 10,000 marks for each job`,
    freedBy: "the owner's removal; Redis, a day or 30 days later",
  },
  {
    keys: [
      "yard:{schedules}:due",
      "yard:{schedules}:all",
      "yard:{schedules}:jobs:*",
      "yard:{schedules}:removed:*",
      "yard:{schedules}:seen:*",
      "yard:{schedules}:outbox",
    ],
    bound: "ids of jobs, and events until they are published; 10,000 removed jobs for each owner",
    freedBy: "the scheduler; Redis, after 30 days",
  },
  // Importer.
  {
    keys: ["yard:skill:{*}:*", "yard:agent:{*}:*"],
    bound: `${COUNTED} that sends them; 50 versions for each name`,
    freedBy: "Redis, 45 days after another version or a removal",
  },
  {
    keys: ["yard:{catalogue}:*"],
    bound: "an entry for each name, of which there is a number for each kind",
    freedBy: "the admin that removes the name; the importer, for announcements",
  },
  // Every service.
  {
    keys: ["yard:audit:{*}:heads", "yard:audit:{*}:users"],
    bound: "numbers for each process and user",
    freedBy: "the service: heads at its next start, numbers after 15 months",
  },
  { keys: ["yard:ready:*"], bound: "one value for each service", freedBy: "not needed" },
  {
    keys: ["yard:storage:{*}:*"],
    bound: "an entry for each thing that it counts",
    freedBy: "the service, with the thing; Redis, after 90 days without a change",
  },
];

/** The row of a key; undefined when no row has its kind. */
export function boundOf(key: string): RedisBound | undefined {
  return redisBounds.find(({ keys }) => keys.some((pattern) => isOfFamily(pattern, key)));
}
