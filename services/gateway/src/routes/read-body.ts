import type { IncomingMessage } from "node:http";
import { Problem } from "../problems/problem.ts";

const MAX_DEPTH = 64;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** The JSON body of a request, undefined without one. Throws a Problem when it is not valid JSON, too long or too deep. */
export async function readBody(request: IncomingMessage, limit: number): Promise<unknown> {
  const bytes = await readBytes(request, limit);
  return bytes.length === 0 ? undefined : jsonOf(bytes, request.headers["content-type"]);
}

/**
 * The body as it came, from the socket: the framework's own request for it costs more than the rest of a request. Throws a Problem when it is
 * too long.
 */
export async function readBytes(request: IncomingMessage, limit: number): Promise<Uint8Array> {
  const { method } = request;
  return method === "GET" || method === "HEAD" ? new Uint8Array() : bytesOf(request, limit);
}

/** What the bytes of a body say. Throws a Problem when they are not valid JSON, or too deep. */
export function jsonOf(bytes: Uint8Array, contentType: string | undefined): unknown {
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json")
    throw new Problem({
      status: 415,
      code: "unsupported_media_type",
      detail: "the body must be JSON: send Content-Type: application/json",
    });
  try {
    const text = decoder.decode(bytes);
    if (depthOf(text) > MAX_DEPTH) throw malformed(`it is nested deeper than ${MAX_DEPTH}`);
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw error instanceof Problem ? error : malformed("it is not JSON in UTF-8");
  }
}

function bytesOf(request: IncomingMessage, limit: number): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const chunks: Buffer[] = [];
  let size = 0;
  const hear = (chunk: Buffer): void => {
    chunks.push(chunk);
    size += chunk.length;
    if (size <= limit) return;
    request.off("data", hear).pause();
    reject(tooLong(limit));
  };
  request.on("data", hear);
  request.once("end", () =>
    resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)),
  );
  request.once("error", reject);
  request.once("close", () => {
    if (!request.complete) reject(malformed("it ended before its time"));
  });
  return promise;
}

function tooLong(limit: number): Problem {
  return new Problem({
    status: 413,
    code: "payload_too_large",
    detail: `the body is larger than ${limit} bytes, which is the most that is taken here`,
    headers: { connection: "close" },
  });
}

/** Before it is parsed: brackets outside of texts. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let isText = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (isText) {
      if (character === "\\") index += 1;
      else if (character === '"') isText = false;
    } else if (character === '"') isText = true;
    else if (character === "{" || character === "[") deepest = Math.max(deepest, (depth += 1));
    else if (character === "}" || character === "]") depth -= 1;
  }
  return deepest;
}

function malformed(why: string): Problem {
  return new Problem({
    status: 400,
    code: "malformed_json",
    detail: `the body cannot be read: ${why}`,
  });
}
