import { Problem } from "../problems/problem.ts";

const MAX_DEPTH = 64;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** The JSON body of a request, undefined without one. Throws a Problem when it is not valid JSON, too long or too deep. */
export async function readBody(request: Request, limit: number): Promise<unknown> {
  const bytes = await readBytes(request, limit);
  return bytes.length === 0 ? undefined : jsonOf(bytes, request.headers);
}

/** The body as it came. Throws a Problem when it is too long. */
export async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  return request.body === null ? new Uint8Array() : bytesOf(request.body, limit);
}

/** What the bytes of a body say. Throws a Problem when they are not valid JSON, or too deep. */
export function jsonOf(bytes: Uint8Array, headers: Headers): unknown {
  const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
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

async function bytesOf(body: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > limit)
      throw new Problem({
        status: 413,
        code: "payload_too_large",
        detail: `the body is larger than ${limit} bytes, which is the most that is taken here`,
        headers: { connection: "close" },
      });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
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
