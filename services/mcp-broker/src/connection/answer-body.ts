import type { Received, MessageReader } from "../normalise/message-reader.ts";
import { isRecord } from "@switchyard/contracts/json-record";
import { parseJson } from "../json/json-value.ts";
import { speaksOfSession } from "../limits/call-failure.ts";
import { carried } from "./carried-result.ts";
import type { PostedRequest } from "./posted-request.ts";

/** The requests that make a connection: how they fail decides how to connect. */
const HANDSHAKE = new Set(["initialize", "server/discover"]);
/** Statuses of a refusal before execution, by the server or by a proxy in front of it. */
const REFUSALS = new Set([401, 403, 407, 429]);
const SESSION_STATUSES = new Set([400, 401, 404, 410]);

/**
 * The response to a POST with its JSON in the form that MCP prescribes. A JSON-RPC error is the server's answer whatever the HTTP status
 * (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server), except one about a
 * session that is gone.
 */
export async function normalBody(
  response: Response,
  {
    messages,
    posted,
    hasSession,
  }: { messages: MessageReader; posted: PostedRequest; hasSession: boolean },
): Promise<Response> {
  const type = mediaType(response);
  // Some servers name no type, or the one of plain text.
  if (response.body === null || !(isJson(type) || type === "" || type === "text/plain"))
    return response;
  const isHandshake = HANDSHAKE.has(posted.method);
  if (!response.ok && (isHandshake || REFUSALS.has(response.status))) return response;
  const text = await response.text();
  const unchanged = (): Response => withText(response, text);
  const isOther = !isJson(type) && parseJson(text.trim()) === null;
  if (isOther) return unchanged();
  if (!response.ok && !isAnswer(text, { status: response.status, hasSession })) return unchanged();
  const received = text.trim() === "" ? [] : messages.read(text, posted.id);
  if (received === null && isHandshake) return unchanged();
  if (received?.length === 0) return unchanged();
  const body = bodyOf(received ?? [messages.failed(posted.id)], messages);
  return withText(response, body, { status: 200, type: "application/json" });
}

/** One event of a stream with its message in the form that MCP prescribes; the same text when it has none. */
export function normalEvent(
  event: string,
  messages: MessageReader,
  posted?: PostedRequest,
): string {
  const lines = event.replace(/^\uFEFF/, "").split(/\r\n|[\n\r]/);
  const isOther = lines.some(
    (line) => line.startsWith("event:") && !/^event: ?message$/.test(line),
  );
  const data = lines.filter((line) => line.startsWith("data:"));
  if (isOther || data.length === 0) return event;
  const text = data.map((line) => line.replace(/^data: ?/, "")).join("\n");
  const received = messages.read(text, posted?.id);
  if (received === null) return event;
  const others = lines.filter((line) => line !== "" && !line.startsWith("data:"));
  const parts = received.map((each) => `data: ${bodyOf([each], messages)}\n\n`);
  const last = parts.pop() ?? "";
  // The id of the event belongs to its last part: after a break the server sends nothing of an event again.
  return `${parts.join("")}${others.map((line) => `${line}\n`).join("")}${last}`;
}

/** True for a JSON-RPC error that answers this request, and is no refusal of a session that the server does not have. */
function isAnswer(
  text: string,
  { status, hasSession }: { readonly status: number; readonly hasSession: boolean },
): boolean {
  const value = parseJson(text.trim());
  if (!isRecord(value) || value["jsonrpc"] !== "2.0" || (value["error"] ?? null) === null)
    return false;
  if (!hasSession || !SESSION_STATUSES.has(status)) return true;
  const { id, error } = value;
  const isUnnamed = id === undefined || id === null;
  return !(isUnnamed && status !== 400) && !speaksOfSession(error);
}

function bodyOf(received: readonly Received[], messages: MessageReader): string {
  const texts = received.map((each) => {
    try {
      return JSON.stringify(carried(each));
    } catch {
      const { message } = each; // nested deeper than it can be written
      const id = "id" in message ? message.id : undefined;
      return id === undefined ? "" : JSON.stringify(messages.failed(id, TOO_DEEP).message);
    }
  });
  return texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(",")}]`;
}

const TOO_DEEP = "its result is nested too deeply to be passed on";

function mediaType({ headers }: Response): string {
  return headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

function isJson(type: string): boolean {
  return type === "application/json" || type.endsWith("+json") || type === "text/json";
}

function withText(
  response: Response,
  body: string,
  changes: { readonly status?: number; readonly type?: string } = {},
): Response {
  const { status = response.status, type = response.headers.get("content-type") } = changes;
  const headers = new Headers(response.headers);
  if (type !== null) headers.set("content-type", type);
  for (const name of ["content-length", "content-encoding"]) headers.delete(name);
  const changed = new Response(body, { status, headers });
  // The transport reads the address to see a redirect; a new response has none of its own.
  Object.defineProperty(changed, "url", { value: response.url });
  return changed;
}
