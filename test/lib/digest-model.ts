import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";

type Part = Readonly<Record<string, unknown>>;
type Message = { readonly role: string; readonly content: string | readonly Part[] | null };

/**
 * A model of Chat Completions that answers with the digests of the files that it is given, and with the last text of the user. The model `blind` refuses
 * images, as OpenRouter does for one without vision; a text with `call <tool>` makes it call that tool once, and one with
 * `finish with <reason>` ends all answers after it for that reason.
 */
export async function startDigestModel(): Promise<{ readonly baseURL: string }> {
  const server = createServer((request, response) => {
    void (async () => {
      let text = "";
      for await (const chunk of request) text += String(chunk);
      const body = JSON.parse(text) as { model: string; messages: Message[] };
      const parts = body.messages.flatMap(({ role, content }) =>
        role === "user" && Array.isArray(content) ? (content as Part[]) : [],
      );
      const files = parts.flatMap((part) => fileIn(part) ?? []);
      if (body.model === "blind" && files.length > 0) {
        // https://openrouter.ai/docs/features/multimodal/images: a model without vision has no endpoint for the request.
        response.writeHead(404, { "content-type": "application/json" });
        const error = { code: 404, message: "No endpoints found that support image input" };
        response.end(JSON.stringify({ error }));
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      const said = lastText(body.messages);
      const tool = /call (\S+)/.exec(said)?.[1];
      const hasResult = body.messages.some(({ role }) => role === "tool");
      const call = { index: 0, id: "c1", function: { name: tool, arguments: "{}" } };
      const choice =
        tool !== undefined && !hasResult
          ? [{ delta: { tool_calls: [call] } }, { delta: {}, finish_reason: "tool_calls" }]
          : [
              { delta: { content: `${files.join(" ")}\n${allTexts(parts) || said}` } },
              {
                delta: {},
                finish_reason:
                  /finish with (\w+)/.exec(JSON.stringify(body.messages))?.[1] ?? "stop",
              },
            ];
      for (const one of choice)
        response.write(
          `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: body.model, choices: [{ index: 0, ...one }] })}\n\n`,
        );
      response.end("data: [DONE]\n\n");
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // of TCP
  return { baseURL: `http://127.0.0.1:${port}/v1` };
}

/** A file as the model reports it. */
export function reported(mediaType: string, bytes: Uint8Array): string {
  return `${mediaType}=${createHash("sha256").update(bytes).digest("hex")}`;
}

/** https://platform.openai.com/docs/api-reference/chat/create: parts of user messages. */
function fileIn({ type, ...part }: Part): string | null {
  const { url = "" } = Object(part["image_url"]) as { url?: string };
  const { file_data: data = "" } = Object(part["file"]) as { file_data?: string };
  const sound = Object(part["input_audio"]) as { data?: string; format?: string };
  if (type === "input_audio")
    return reported(`audio/${sound.format ?? ""}`, Buffer.from(sound.data ?? "", "base64"));
  const [, mediaType, base64] = /^data:([^;]+);base64,(.*)$/s.exec(url || data) ?? [];
  if (mediaType === undefined || base64 === undefined) return null;
  return reported(mediaType, Buffer.from(base64, "base64"));
}

function lastText(messages: readonly Message[]): string {
  const last = messages.findLast(({ role }) => role === "user")?.content;
  return typeof last === "string" ? last : allTexts(last ?? []);
}

function allTexts(parts: readonly Part[]): string {
  return parts.map(({ text }) => (typeof text === "string" ? text : "")).join("\n");
}
