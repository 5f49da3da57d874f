import { RequestMalformedError } from "@a2a-js/sdk/errors";
import { TaskState } from "@a2a-js/sdk";
import { cutText } from "@switchyard/contracts/cut-text";
import { z } from "zod";

/** https://www.jsonrpc.org/specification#error_object */
const INVALID_REQUEST = -32_600;

/**
 * Returns the JSON-RPC error for a body that is not a request of JSON-RPC 2.0; null for a request.
 * https://www.jsonrpc.org/specification#request_object
 */
export function notRpc(body: unknown): { readonly code: number; readonly message: string } | null {
  const parsed = RpcRequest.safeParse(body);
  if (parsed.success) return null;
  const batch = Array.isArray(body) ? "; send the requests of a batch one by one" : "";
  const message = `this is not a request of JSON-RPC 2.0: ${problemOf(parsed.error, "the body").text}${batch}`;
  return { code: INVALID_REQUEST, message };
}

const RpcRequest = z.looseObject(
  {
    jsonrpc: z.literal("2.0", { error: 'must be "2.0"' }),
    id: z
      .union([z.string(), z.int(), z.null()], { error: "must be a text or a whole number" })
      .optional(),
    method: z.string({ error: "must be the name of a method" }).min(1),
  },
  { error: "must be a JSON object" },
);

/**
 * Throws a RequestMalformedError (-32602) that names the first parameter which the method does not accept, or which is out of
 * its range. The SDK accepts any value: it converts numbers to text and drops what it cannot read.
 * https://a2a-protocol.org/latest/specification/
 */
export function checkParams(method: string, params: unknown): void {
  if (!Object.hasOwn(PARAMS, method)) return;
  const parsed = PARAMS[method as keyof typeof PARAMS].safeParse(inCamelCase(params ?? {}));
  if (parsed.success) return;
  const { parameter, text } = problemOf(parsed.error, "params");
  throw new RequestMalformedError({ message: text, metadata: { parameter } });
}

const MAX_INT32 = 2 ** 31 - 1;
/** The limit of a run's labels, in which the ids of clients are stored. */
const MAX_ID = 256;

const id = z.string().min(1);
const ownId = z.string().max(MAX_ID).nullish();
const historyLength = z.int().min(0).max(MAX_INT32).nullish();
const metadata = z.record(z.string(), z.unknown()).nullish();
const tenant = z.literal("", { error: "must be left out: agents here have no tenants" }).nullish();
const CONTENTS = ["text", "raw", "url", "data"] as const;

const Part = z
  .looseObject(
    {
      text: z.string().nullish(),
      raw: z.base64({ error: "must be base64" }).nullish(),
      url: z.url().nullish(),
      data: z.unknown().optional(),
      filename: z.string().nullish(),
      mediaType: z.string().nullish(),
      metadata,
    },
    { error: "must be an object" },
  )
  .refine((part) => CONTENTS.filter((name) => isSet(part[name])).length === 1, {
    error: "must have exactly one of text, raw, url and data",
  });

const Message = z.looseObject(
  {
    messageId: id.max(MAX_ID),
    contextId: ownId,
    taskId: z.string().nullish(),
    role: z.literal(["ROLE_USER", 1], { error: "must be ROLE_USER" }),
    parts: z
      .array(z.preprocess(inCamelCase, Part))
      .min(1)
      .refine((parts) => parts.some(({ text }) => !isSet(text) || text !== ""), {
        error: "must have a text that is not empty",
      }),
    metadata,
    extensions: z.array(z.string()).nullish(),
    referenceTaskIds: z.array(z.string()).nullish(),
  },
  { error: "must be an object" },
);

const SendMessage = z.looseObject({
  tenant,
  message: z.preprocess(inCamelCase, Message),
  configuration: z.preprocess(
    inCamelCase,
    z
      .looseObject({
        acceptedOutputModes: z.array(z.string()).nullish(),
        historyLength,
        returnImmediately: z.boolean().nullish(),
        taskPushNotificationConfig: z.looseObject({}).nullish(),
      })
      .nullish(),
  ),
  metadata,
});

const NO_STATES = new Set<string | TaskState>(["UNRECOGNIZED", TaskState.UNRECOGNIZED]);
const STATES = Object.values(TaskState).filter((state) => !NO_STATES.has(state));
const Task = z.looseObject({ tenant, id });
const PARAMS = {
  SendMessage,
  SendStreamingMessage: SendMessage,
  GetTask: Task.extend({ historyLength }),
  CancelTask: Task.extend({ metadata }),
  SubscribeToTask: Task,
  ListTasks: z.looseObject({
    tenant,
    contextId: ownId,
    status: z
      .literal(STATES, { error: "must be a state of tasks, such as TASK_STATE_WORKING" })
      .nullish(),
    pageSize: z.int().min(1).max(100).nullish(),
    pageToken: z.string().nullish(),
    historyLength,
    statusTimestampAfter: z.iso
      .datetime({ offset: true, error: "must be a time of ISO 8601, such as 2026-11-27T10:00:00Z" })
      .nullish(),
    includeArtifacts: z.boolean().nullish(),
  }),
} as const;

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Clients that print Protocol Buffers with the original field names write `history_length`. */
function inCamelCase(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      one,
    ]),
  );
}

function problemOf(
  { issues: [issue] }: z.ZodError,
  whole: string,
): { readonly parameter: string; readonly text: string } {
  const parameter = cutText((issue?.path ?? []).join("."), 100);
  const text = `${parameter === "" ? whole : parameter}: ${issue?.message ?? "is not valid"}`;
  return { parameter, text };
}
