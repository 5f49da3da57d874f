import { AgentName, CallerName, ModelName } from "@switchyard/contracts/ids";
import {
  JobCatchUp,
  JobDelivery,
  JobOverlap,
  JobSchedule,
} from "@switchyard/contracts/scheduler/schedules";
import { SessionKey } from "@switchyard/contracts/agent-runner/session-key";
import { STREAM_NAMES } from "@switchyard/contracts/stream-names";
import type { ForeignSource } from "@switchyard/topology/topology";
import { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import { isService } from "@switchyard/contracts/user-names";
import { nearestName } from "@switchyard/contracts/nearest-name";
import {
  problemLine,
  readYaml,
  type Checked,
  type ShapeProblem,
} from "@switchyard/service/yaml-file";
import { z } from "zod";
import { declareJob, declaredId, type Declaration } from "../jobs/declare-job.ts";
import { JobProblem } from "../jobs/make-job.ts";
import { MessageCondition } from "../jobs/message-filter.ts";
import { checkTemplate } from "../jobs/message-template.ts";
import { subjectProblem } from "./source-subject.ts";

/** A trigger's subscription to messages, and how it starts runs from them. */
export interface MessageTrigger {
  readonly id: string;
  readonly jobId: string;
  readonly source: ForeignSource;
  /** False when the file disables the trigger. */
  readonly enabled: boolean;
  /** The start of a stream consumer: at messages stored from now on, or at the first one of the stream. */
  readonly from: "new" | "all";
  readonly when: readonly MessageCondition[];
  readonly dedupe: string | null;
  readonly concurrency: number;
  readonly input: string;
}

export interface Triggers {
  /** A job for each trigger. */
  readonly declarations: readonly Declaration[];
  /** The triggers whose runs are started by messages. */
  readonly messages: readonly MessageTrigger[];
}

/** No triggers at all. */
export const NO_TRIGGERS: Triggers = { declarations: [], messages: [] };

const Text = z.string().min(1).max(32_768);
const Template = Text.superRefine((text, context) => {
  try {
    checkTemplate(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: (error as Error).message }); // pointerTokens throws only Errors
  }
});

const Message = z.strictObject({
  subject: z.string().superRefine((subject, context) => {
    const message = subjectProblem(subject);
    if (message !== null) context.addIssue({ code: "custom", message });
  }),
  stream: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, "must be the name of a stream: letters, digits, _ and -")
    .refine((name) => !/^(?:YARD|OBJ|KV)_/.test(name) || name === STREAM_NAMES.events, {
      error: `must be a stream of yours, or ${STREAM_NAMES.events}`,
    })
    .optional(),
  from: z.enum(["new", "all"]).optional(),
  when: z.array(MessageCondition).max(32).default([]),
  dedupe: Template.optional(),
  concurrency: z.int().min(1).max(10).default(10),
});

const Trigger = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,47}$/, "must be 1-48 characters of a-z 0-9 -, such as new-order"),
  description: z.string().max(1_024).optional(),
  owner: CallerName.refine((name) => !isService(name), {
    error: "must be a user, such as cli or a team; services own no runs",
  }),
  agent: AgentName,
  schedule: JobSchedule.optional(),
  message: Message.optional(),
  input: Text,
  session: SessionKey.optional(),
  model: ModelName.optional(),
  thinking: ThinkingLevel.optional(),
  timeoutSeconds: z.int().min(0).max(86_400).optional(),
  delivery: JobDelivery.optional(),
  overlap: JobOverlap.optional(),
  catchUp: JobCatchUp.optional(),
  enabled: z.boolean().default(true),
});
type Trigger = z.output<typeof Trigger>;

const TriggersFile = z.strictObject({
  version: z.literal(1),
  triggers: z.array(Trigger).max(1_000),
});

/** The keys of the file's mappings, by the last name on the way to them. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  "": Object.keys(TriggersFile.shape),
  triggers: Object.keys(Trigger.shape),
  schedule: Object.keys(JobSchedule.shape),
  message: Object.keys(Message.shape),
  delivery: Object.keys(JobDelivery.shape),
  when: ["field", "op", "value"],
};

/** The file cannot be used; each line of the message is a problem with its position. */
export class TriggersFileError extends Error {
  override readonly name = "TriggersFileError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

/** Reads `triggers.yaml`. Throws a TriggersFileError: a file with a problem has no effect at all. */
export function readTriggers(text: string, fileName: string): Triggers {
  const read = readYaml(text, check);
  if (read.value === null)
    throw new TriggersFileError(read.problems.map((problem) => problemLine(fileName, problem)));
  return read.value;
}

function check(content: unknown): Checked<Triggers> {
  const parsed = TriggersFile.safeParse(content, { reportInput: true });
  if (!parsed.success) return { value: null, problems: parsed.error.issues.flatMap(explain) };
  const { triggers } = parsed.data;
  const problems = triggers.flatMap((trigger, index) => [
    ...togetherProblems(trigger, index),
    ...repeated(triggers, index),
  ]);
  if (problems.length > 0) return { value: null, problems };
  const declarations = triggers.map(declarationOf);
  const faults = declarations.flatMap((declaration, index) => jobProblems(declaration, index));
  if (faults.length > 0) return { value: null, problems: faults };
  const messages = triggers.flatMap((trigger) => messageTrigger(trigger) ?? []);
  return { value: { declarations, messages }, problems: [] };
}

/** Reports keys that are valid alone and not in this combination. */
function togetherProblems(trigger: Trigger, index: number): ShapeProblem[] {
  const path = ["triggers", index];
  const { schedule, message, overlap, catchUp, session, delivery } = trigger;
  if ((schedule === undefined) === (message === undefined)) {
    const text = `trigger ${trigger.id} must have either schedule or message: when, or by what, its runs begin`;
    return [{ path, message: text }];
  }
  const problems: ShapeProblem[] = [];
  const refuse = (key: string, why: string): void =>
    void problems.push({ path: [...path, key], message: why });
  if (message === undefined) {
    if (trigger.input.includes("{{"))
      refuse(
        "input",
        "input may have {{…}} only beside message: a schedule has nothing to fill it with",
      );
  } else {
    if (overlap !== undefined)
      refuse("overlap", "overlap belongs to schedule; for messages write message.concurrency");
    if (catchUp !== undefined)
      refuse(
        "catchUp",
        "catchUp belongs to schedule; missed messages are stored by message.stream",
      );
    if (message.from !== undefined && message.stream === undefined)
      problems.push({
        path: [...path, "message", "from"],
        message: "message.from belongs to message.stream: a subject alone has no past",
      });
  }
  if (session !== undefined && delivery?.mode === "announce")
    refuse("delivery", "delivery.mode announce does not go with session; leave one of them out");
  return problems;
}

function repeated(triggers: readonly Trigger[], index: number): ShapeProblem[] {
  const id = triggers[index]?.id;
  const first = triggers.findIndex((trigger) => trigger.id === id);
  if (first === index) return [];
  const message = `triggers[${index}].id ${JSON.stringify(id)} is already the id of triggers[${first}]`;
  return [{ path: ["triggers", index, "id"], message }];
}

/** Reports what the scheduler would reject in a job: an invalid expression, a delivery without an address. */
function jobProblems(declaration: Declaration, index: number): ShapeProblem[] {
  try {
    declareJob(null, declaration, Date.now());
    return [];
  } catch (error) {
    if (!(error instanceof JobProblem)) throw error;
    const key = /deliver/.test(error.message) ? "delivery" : "schedule";
    return [{ path: ["triggers", index, key], message: error.message }];
  }
}

function declarationOf(trigger: Trigger): Declaration {
  const { id, description, agent, input, session, delivery } = trigger;
  const { model, thinking, timeoutSeconds } = trigger;
  const { schedule, message, overlap = "skip", catchUp = "once", enabled, owner } = trigger;
  const more = {
    ...(model !== undefined && { model }),
    ...(thinking !== undefined && { thinking }),
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
  };
  const isMain = session !== undefined;
  const source =
    schedule ??
    ({
      kind: "message",
      subject: message?.subject,
      ...(message?.stream !== undefined && { stream: message.stream }),
    } as const);
  return {
    name: id,
    owner,
    job: {
      name: id,
      ...(description !== undefined && { description }),
      agentId: agent,
      ...(isMain && { sessionKey: session }),
      schedule: source,
      sessionTarget: isMain ? "main" : "isolated",
      payload: isMain
        ? { kind: "systemEvent", text: input, ...more }
        : { kind: "agentTurn", message: input, ...more },
      ...(delivery !== undefined && { delivery }),
      enabled,
      // A deleted job would be created again with the next load of the file.
      deleteAfterRun: false,
      wakeMode: "now",
      overlap,
      catchUp,
    },
  };
}

function messageTrigger({ id, owner, enabled, message, input }: Trigger): MessageTrigger | null {
  if (message === undefined) return null;
  const { subject, stream, from = "new", when, dedupe, concurrency } = message;
  const jobId = declaredId({ owner, name: id });
  return {
    id,
    jobId,
    source: {
      subject,
      stored: stream === undefined ? null : { stream, consumer: consumerOf(jobId, from) },
    },
    enabled,
    from,
    when,
    dedupe: dedupe ?? null,
    concurrency,
    input,
  };
}

/** The start position of a consumer cannot be changed, so there are two. */
function consumerOf(jobId: string, from: "new" | "all"): string {
  return from === "new" ? `yard-${jobId}` : `yard-${jobId}-all`;
}

function explain(issue: z.core.$ZodIssue): ShapeProblem[] {
  const { path } = issue;
  const label = labelOf(path);
  if (issue.code === "unrecognized_keys") {
    const place = path.findLast((part) => typeof part === "string") ?? "";
    const known = KEYS[place] ?? [];
    return issue.keys.map((key) => {
      const nearest = nearestName(key, known);
      const hint =
        nearest === null ? `known keys are ${known.join(", ")}` : `did you mean "${nearest}"?`;
      const where = label === "" ? "" : ` in ${label}`;
      return {
        path: [...path, key],
        message: `unknown key ${JSON.stringify(key)}${where}; ${hint}`,
      };
    });
  }
  if (path.length > 0 && issue.input === undefined)
    return [{ path, message: `${label} is missing` }];
  return [
    { path, message: label === "" ? `the file: ${issue.message}` : `${label} ${issue.message}` },
  ];
}

function labelOf(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./, "");
}
