import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/client";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { Unusable, withoutNulls, type Note } from "./forms.ts";
import { readMessageText } from "./message-text.ts";
import { askedBack, notificationForm, resultForm, type AskedFor } from "./result-forms.ts";
import { normalToolResult } from "./tool-result.ts";

/** A message of a server as the SDK's schemas accept it. */
export interface Received {
  readonly message: JSONRPCMessage;
  /** Method of the request that it answers; null when it answers none that is open. */
  readonly answers: string | null;
}

/** The reason of the error that replaces an answer in no known form. */
export const MALFORMED_ANSWER = "the server's answer is not a JSON-RPC response";
const INTERNAL_ERROR = -32_603;
const CANCELLED = "notifications/cancelled";
/** The most findings of one connection that are reported; a server may make up a new one in each message. */
const MAX_FINDINGS = 100;

/**
 * Brings every message of one connection into the form that MCP prescribes, before any schema of the SDK sees it: those refuse a whole
 * list, result or handshake for one `null`. It keeps the requests that are open, because the form of a result depends on them.
 * See docs/reference/mcp.md#what-servers-and-clients-may-send.
 */
export class MessageReader {
  readonly #open = new Map<RequestId, AskedFor>();
  readonly #reported = new Set<string>();
  readonly #report: (problem: string) => void;

  /** `report` gets each finding once. */
  constructor(report: (problem: string) => void = () => undefined) {
    this.#report = report;
  }

  /** Notes a message that is being sent. */
  sent(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    const { method, params } = message;
    if (method === CANCELLED) this.settled(params?.["requestId"] as RequestId); // what is no id is not open
    if (!("id" in message)) return;
    const name = params?.["name"] ?? params?.["uri"];
    this.#open.set(message.id, { method, name: typeof name === "string" ? name : null });
  }

  /** No answer is expected any more. */
  settled(id: RequestId): void {
    this.#open.delete(id);
  }

  /**
   * The messages of one line, event or body, in order; null when it has none. `asked` is the request that this answers, where
   * the transport knows it.
   */
  read(text: string, asked?: RequestId): readonly Received[] | null {
    const read = readMessageText(text);
    if (read === null) return null;
    if ("problem" in read) {
      const id = this.#idOf(read.readable, asked);
      if (id === null) return null;
      return [this.failed(id, `the server's answer cannot be read: ${read.problem}`)];
    }
    const received = read.values.flatMap((value) => this.normal(value, asked) ?? []);
    if (received.length === 0) return null;
    for (const finding of read.findings) this.#note(received[0]?.answers ?? "message", "", finding);
    return received;
  }

  /** The message in its form; null for what is no message. */
  normal(value: unknown, asked?: RequestId): Received | null {
    if (!isRecord(value)) return null;
    const { jsonrpc, method } = value;
    if (jsonrpc !== "2.0" && jsonrpc !== 2 && asked === undefined) return null;
    return typeof method === "string" ? this.#request(value, method) : this.#answer(value, asked);
  }

  /** The error that replaces an answer that cannot be forwarded. */
  failed(id: RequestId, reason: string = MALFORMED_ANSWER): Received {
    const answers = this.#open.get(id)?.method ?? null;
    this.settled(id);
    const error = { code: INTERNAL_ERROR, message: reason };
    return { message: { jsonrpc: "2.0", id, error }, answers };
  }

  #request(value: JsonRecord, method: string): Received | null {
    const { id, params } = value;
    const isRequest = isId(id);
    const note: Note = (pointer, problem) => this.#note(method, pointer, problem);
    const formed = isRequest
      ? withoutNulls(params ?? undefined)
      : notificationForm(method)(params ?? {}, "/params", note);
    if (formed instanceof Unusable) {
      note("/params", `${formed.why}; the message is left out`);
      return null;
    }
    const members = { jsonrpc: "2.0", method, ...(isRequest && { id }) };
    const isGiven = isRecord(formed) && (isRecord(params) || Object.keys(formed).length > 0);
    // The members were checked here, and the SDK checks those that the method requires.
    const message = (isGiven ? { ...members, params: formed } : members) as JSONRPCMessage;
    return { message, answers: null };
  }

  #answer(value: JsonRecord, asked: RequestId | undefined): Received | null {
    const id = this.#idOf(value, asked);
    if (id === null) return null;
    const { result, error } = value;
    const request = this.#open.get(id);
    if (isNothing(error) === isNothing(result) && !(request !== undefined && result === null))
      return this.failed(id);
    if (!isNothing(error)) {
      this.settled(id);
      const message = { jsonrpc: "2.0" as const, id, error: normalError(error) };
      return { message, answers: request?.method ?? null };
    }
    const formed = request === undefined ? result : this.#result(request, result);
    if (!isRecord(formed)) return this.failed(id);
    this.settled(id);
    return { message: { jsonrpc: "2.0", id, result: formed }, answers: request?.method ?? null };
  }

  #result(request: AskedFor, raw: unknown): unknown {
    const { method, name } = request;
    const what = method === "tools/call" ? "tool" : method;
    const subject = `result of ${what}${name === null ? "" : ` ${name}`}`;
    const note: Note = (pointer, problem) => this.#note(subject, pointer, problem);
    if (isRecord(raw) && raw["resultType"] === "input_required") return askedBack(raw);
    if (method === "tools/call") {
      const { result, findings } = normalToolResult(raw);
      for (const { pointer, problem } of findings) note(pointer, problem);
      return result;
    }
    const formed = resultForm(request)?.(raw, "", note) ?? raw;
    if (!(formed instanceof Unusable)) return formed;
    note("", formed.why);
    return null;
  }

  /**
   * Some servers write the id back as text. One that could not read a request answers with `id: null`, which can only be the one
   * that is open.
   */
  #idOf(value: unknown, asked: RequestId | undefined): RequestId | null {
    const id = isRecord(value) ? value["id"] : undefined;
    if (isId(id)) return this.#open.has(id) || !this.#open.has(Number(id)) ? id : Number(id);
    if (asked !== undefined) return asked;
    if (!isRecord(value) || isNothing(value["error"]) || this.#open.size !== 1) return null;
    const [only] = this.#open.keys();
    return only ?? null;
  }

  #note(what: string, pointer: string, problem: string): void {
    const text = `${what}${pointer === "" ? "" : `, ${pointer}`}: ${problem}`;
    if (this.#reported.has(text) || this.#reported.size >= MAX_FINDINGS) return;
    this.#reported.add(text);
    this.#report(text);
  }
}

function isId(id: unknown): id is RequestId {
  return typeof id === "string" || Number.isSafeInteger(id);
}

function isNothing(member: unknown): boolean {
  return member === undefined || member === null;
}

/** An error with a code and a sentence, from any value that a server writes for it. */
function normalError(error: unknown): { code: number; message: string; data?: unknown } {
  if (!isRecord(error)) return { code: INTERNAL_ERROR, message: textOf(error) };
  const { code, message, data } = error;
  const asNumber = typeof code === "string" ? Number(code.trim() || Number.NaN) : code;
  const isCode = Number.isSafeInteger(asNumber);
  const said = isNothing(message) || message === "" ? fallbackText(error) : textOf(message);
  return {
    code: isCode ? (asNumber as number) : INTERNAL_ERROR, // checked above
    message: isCode || isNothing(code) ? said : `${said} (${textOf(code)})`,
    ...(!isNothing(data) && { data }),
  };
}

function fallbackText({ error, detail, title, data }: JsonRecord): string {
  const said = [error, detail, title, data].find((each) => !isNothing(each));
  return said === undefined ? "the server gave no reason" : textOf(said);
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value);
  } catch {
    return "the server's reason is nested too deeply to be shown";
  }
}
