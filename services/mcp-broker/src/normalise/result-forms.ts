import { cleanContent, isBase64, isIsoTime } from "@switchyard/contracts/mcp-broker/content-blocks";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import {
  anyMembers,
  flag,
  integer,
  listOf,
  membersOf,
  number,
  oneOf,
  text,
  Unusable,
  withDefault,
  withoutNulls,
  type Form,
} from "./forms.ts";

/**
 * The results and notifications of servers, as
 * https://modelcontextprotocol.io/specification/2025-11-25/schema and its successor of 2026-07-28 define them, one row for each method.
 */

const icons = listOf(
  membersOf({ mimeType: text, sizes: listOf(text), theme: oneOf("light", "dark") }, { src: text }),
);
const annotations = membersOf({
  audience: listOf(oneOf("user", "assistant")),
  priority: (value) =>
    typeof value === "number" && value >= 0 && value <= 1
      ? value
      : new Unusable("it is not a number from 0 to 1"),
  lastModified: (value) =>
    isIsoTime(value) ? value : new Unusable("it is not a time of ISO 8601"),
});
const EVERY_ENTRY = { title: text, description: text, icons, _meta: anyMembers };

const resource = withDefault(
  "name",
  { form: text, defaultOf: ({ uri }) => uri },
  membersOf(
    { ...EVERY_ENTRY, mimeType: text, size: number, annotations },
    { uri: text, name: text },
  ),
);
const template = withDefault(
  "name",
  { form: text, defaultOf: ({ uriTemplate }) => uriTemplate },
  membersOf({ ...EVERY_ENTRY, mimeType: text, annotations }, { uriTemplate: text, name: text }),
);
const promptArgument = membersOf(
  { title: text, description: text, required: flag },
  { name: text },
);
const prompt = membersOf({ ...EVERY_ENTRY, arguments: listOf(promptArgument) }, { name: text });

/** The optional members of a tool. Its name and its schemas are read by the catalogue, which names what it refuses. */
export const toolForm = membersOf({
  ...EVERY_ENTRY,
  annotations: membersOf({
    title: text,
    readOnlyHint: flag,
    destructiveHint: flag,
    idempotentHint: flag,
    openWorldHint: flag,
  }),
  execution: membersOf({ taskSupport: oneOf("forbidden", "optional", "required") }),
  outputSchema: (value) => (isRecord(value) ? value : new Unusable("it is not an object")),
});

/** Many servers number their pages and accept the number as a text, too. */
const cursor: Form = (value, at, note) => {
  if (typeof value === "string") return value;
  if (typeof value !== "number") return new Unusable("it is not text");
  note(at, "it is a number; sent back as text");
  return String(value);
};

/** A page of a list under this key. A page of tools without such a list is no page, of the others an empty one. */
function page(key: string, list: Form | null): Form {
  const entries = list === null ? {} : { [key]: list };
  const isEmpty = (value: unknown): boolean =>
    list === null ? value === null : !Array.isArray(value);
  return withDefault(
    key,
    {
      form: (value) => (isEmpty(value) ? new Unusable("it is not a list") : value),
      defaultOf: () => [],
    },
    membersOf({ nextCursor: cursor, _meta: anyMembers, ttlMs: number, ...entries }),
  );
}

/** A message has one block; a text is a text block, and a list of blocks becomes a message for each. */
const promptMessages: Form = (value, at, note) => {
  if (!Array.isArray(value)) return new Unusable("it is not a list");
  return value.flatMap((message: unknown, index) => {
    const where = `${at}/${index}`;
    if (!isRecord(message) || message["content"] === undefined || message["content"] === null) {
      note(where, "it is not a message; left out");
      return [];
    }
    const isRole = message["role"] === "user" || message["role"] === "assistant";
    if (!isRole) note(`${where}/role`, 'it is neither "user" nor "assistant"; "user" is used');
    const { content: raw } = message;
    const { content, findings } = cleanContent(Array.isArray(raw) ? raw : [raw]);
    for (const { pointer, problem } of findings) note(`${where}${pointer}`, problem);
    const role = isRole ? message["role"] : "user";
    return content.map((block) => Object.assign({}, message, { role, content: block }));
  });
};

const base64: Form = (value) => (isBase64(value) ? value : new Unusable("it is not base64"));
const content = membersOf({ mimeType: text, text, blob: base64, _meta: anyMembers }, { uri: text });

/** Contents are a text or a blob. One that is written in another form becomes a text, and contents with neither are empty. */
const contents = listOf((value, at, note) => {
  if (!isRecord(value) || typeof value["text"] === "string" || isBase64(value["blob"]))
    return content(value, at, note);
  const { blob, ...others } = value;
  const given = others["text"] ?? blob ?? "";
  note(at, "it has neither a text nor a blob in base64; passed on as text");
  const replacement = typeof given === "string" ? given : JSON.stringify(given);
  return content({ ...others, text: replacement }, at, note);
});

/** The contents of the resource that was read. Some servers send a single one without a list, and without its URI. */
function contentsOf(uri: string | null): Form {
  return (value, at, note) => {
    const list: readonly unknown[] = Array.isArray(value) ? value : isRecord(value) ? [value] : [];
    if (!Array.isArray(value)) note(at, "it is not a list");
    const named = list.map((each) =>
      isRecord(each) && typeof each["uri"] !== "string" && uri !== null ? { ...each, uri } : each,
    );
    return contents(named.every((each, index) => each === list[index]) ? list : named, at, note);
  };
}

const values = membersOf({ total: integer, hasMore: flag }, { values: listOf(text) });

/** The capabilities of a server: some write `true` for an empty object, and `false` for none. */
function capability(members: Readonly<Record<string, Form>>): Form {
  const form = membersOf(members);
  return (value, at, note) => {
    if (value === false) return undefined;
    return form(value === true ? {} : value, at, note);
  };
}
const changes = { listChanged: flag };
const anyOfMembers: Form = (value, at, note) => {
  if (!isRecord(value)) return anyMembers(value, at, note);
  const names = Object.keys(value);
  return membersOf(Object.fromEntries(names.map((name) => [name, capability({})])))(
    value,
    at,
    note,
  );
};
const capabilities = membersOf({
  tools: capability(changes),
  prompts: capability(changes),
  resources: capability({ ...changes, subscribe: flag }),
  logging: capability({}),
  completions: capability({}),
  tasks: capability({ list: capability({}), cancel: capability({}), requests: capability({}) }),
  experimental: anyOfMembers,
  extensions: anyOfMembers,
});

const implementation = withDefault(
  "name",
  { form: text, defaultOf: () => "unnamed" },
  withDefault(
    "version",
    {
      form: text,
      defaultOf: ({ version }) => (typeof version === "number" ? String(version) : ""),
    },
    membersOf(
      { title: text, description: text, websiteUrl: text, icons },
      { name: text, version: text },
    ),
  ),
);

const orEmpty =
  (form: Form): Form =>
  (value, at, note) => {
    const formed = form(value ?? {}, at, note);
    if (!(formed instanceof Unusable)) return formed;
    note(at, `${formed.why}; read as an empty one`);
    return form({}, at, note);
  };

/** The SDK's own default for a server that names no version. */
const UNNAMED_VERSION = "2025-03-26";
const HANDSHAKE = { instructions: text, _meta: anyMembers };

const initialized: Form = (value, at, note) => {
  if (!isRecord(value)) return new Unusable("it is not an object");
  const { protocolVersion, capabilities: offered, serverInfo } = value;
  if (typeof protocolVersion !== "string")
    note(`${at}/protocolVersion`, `it is not text; ${UNNAMED_VERSION} is used`);
  return membersOf(HANDSHAKE)(
    {
      ...value,
      protocolVersion: typeof protocolVersion === "string" ? protocolVersion : UNNAMED_VERSION,
      capabilities: orEmpty(capabilities)(offered, `${at}/capabilities`, note),
      serverInfo: orEmpty(implementation)(serverInfo, `${at}/serverInfo`, note),
    },
    at,
    note,
  );
};

/** An older server may answer the request of 2026-07-28 with anything; only a list of versions makes it an answer. */
const discovered: Form = (value, at, note) => {
  if (!isRecord(value) || !Array.isArray(value["supportedVersions"])) return value;
  const offered = orEmpty(capabilities)(value["capabilities"], `${at}/capabilities`, note);
  const all = { resultType: "complete", ...value, capabilities: offered };
  return membersOf({ ...HANDSHAKE, supportedVersions: listOf(text), ttlMs: integer })(
    all,
    at,
    note,
  );
};

const empty: Form = () => ({});

export interface AskedFor {
  readonly method: string;
  /** The tool, prompt or URI that the request named. */
  readonly name: string | null;
}

/** The form of the result of each method; null for an unknown method. */
export function resultForm({ method, name }: AskedFor): Form | null {
  if (method === "resources/read")
    return membersOf({ _meta: anyMembers, ttlMs: number }, { contents: contentsOf(name) });
  return Object.hasOwn(RESULTS, method) ? (RESULTS[method] ?? null) : null;
}

const RESULTS: Readonly<Record<string, Form>> = {
  initialize: initialized,
  "server/discover": discovered,
  ping: empty,
  "logging/setLevel": empty,
  "resources/subscribe": empty,
  "resources/unsubscribe": empty,
  "tools/list": page("tools", null), // the catalogue reads each of them
  "resources/list": page("resources", listOf(resource)),
  "resources/templates/list": page("resourceTemplates", listOf(template)),
  "prompts/list": page("prompts", listOf(prompt)),
  "prompts/get": membersOf({ description: text, _meta: anyMembers }, { messages: promptMessages }),
  "completion/complete": membersOf({ _meta: anyMembers }, { completion: values }),
};

/** The form of the parameters of each notification. */
export function notificationForm(method: string): Form {
  return (Object.hasOwn(NOTIFICATIONS, method) ? NOTIFICATIONS[method] : undefined) ?? anyMembers;
}

const token: Form = (value) =>
  typeof value === "string" || typeof value === "number" ? value : new Unusable("it is not an id");

const NOTIFICATIONS: Readonly<Record<string, Form>> = {
  "notifications/progress": membersOf(
    { total: number, message: text, _meta: anyMembers },
    { progressToken: token, progress: number },
  ),
  "notifications/message": membersOf({ logger: text, _meta: anyMembers }, { level: text }),
  "notifications/cancelled": membersOf({ reason: text, _meta: anyMembers }, { requestId: token }),
  "notifications/resources/updated": membersOf({ title: text, _meta: anyMembers }, { uri: text }),
};

/** A request of the server instead of a result (2026-07-28), whose parameters are those of a request. */
export function askedBack(result: JsonRecord): JsonRecord {
  const { inputRequests, requestState, ...rest } = result;
  return {
    ...rest,
    ...(isRecord(inputRequests) && { inputRequests: withoutNulls(inputRequests) }),
    ...(typeof requestState === "string" && { requestState }),
  };
}
