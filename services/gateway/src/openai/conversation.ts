import { z } from "zod";
import { fileOfDataUrl, inlineFile } from "../agent-runs/inline-file.ts";
import type { InputPiece } from "../agent-runs/store-input.ts";
import { invalid } from "./openai-errors.ts";

const Part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  refusal: z.string().optional(),
});
type Part = z.infer<typeof Part>;
const Content = z.union([z.string(), z.array(Part)]).nullish();
export const ChatMessage = z.looseObject({ role: z.string(), content: Content });
export type ChatMessage = z.infer<typeof ChatMessage>;

const INSTRUCTS = new Set(["system", "developer"]);
const TEXTS = new Set(["text", "input_text", "output_text"]);
const Url = z.union([z.string(), z.looseObject({ url: z.string() })]);
const File = z.looseObject({
  file_data: z.string().nullish(),
  file_id: z.string().nullish(),
  file_url: z.string().nullish(),
  filename: z.string().nullish(),
});
const Sound = z.looseObject({ data: z.string(), format: z.string() });

/** Returns the pieces of one message. Throws a Problem for parts that agents do not accept. */
export function piecesOf({
  content,
}: {
  readonly content?: z.infer<typeof Content>;
}): InputPiece[] {
  if (typeof content === "string") return [{ text: content }];
  return (content ?? []).map(pieceOf);
}

/** Reads the parts of Chat Completions and of Responses, which use different type names for the same parts. */
function pieceOf(part: Part): InputPiece {
  const { type, text, refusal } = part;
  switch (type) {
    case "refusal":
      return { text: refusal ?? "" };
    case "image_url":
    case "input_image":
      return imageOf(part);
    case "input_audio": {
      const { data: sound } = Sound.safeParse(part["input_audio"]);
      const mediaType = sound === undefined ? "" : `audio/${sound.format}`;
      return found(sound && inlineFile(sound.data, { name: undefined, mediaType }), type);
    }
    case "file":
      return fileOf(type, part["file"]);
    case "input_file":
      return fileOf(type, part);
    default:
      if (text !== undefined && TEXTS.has(type)) return { text };
      throw invalid(
        "messages",
        `a part of the type ${type} is not accepted here: send text, images, audio or files`,
      );
  }
}

function imageOf(part: Part): InputPiece {
  const id = part["file_id"];
  if (typeof id === "string") return { ref: id };
  const { data: url } = Url.safeParse(part["image_url"]);
  const address = typeof url === "string" ? url : (url?.url ?? "");
  if (/^https?:/i.test(address)) throw noRemote(part.type);
  return found(fileOfDataUrl(address), part.type);
}

function fileOf(type: string, given: unknown): InputPiece {
  const { data: file } = File.safeParse(given);
  if (typeof file?.file_id === "string") return { ref: file.file_id };
  if (typeof file?.file_url === "string") throw noRemote(type);
  const name = file?.filename ?? undefined;
  const data = file?.file_data ?? "";
  const piece = fileOfDataUrl(data, name) ?? inlineFile(data, { name, mediaType: undefined });
  return found(piece, type);
}

function found(piece: InputPiece | null | undefined, type: string): InputPiece {
  if (piece !== null && piece !== undefined) return piece;
  throw invalid(
    "messages",
    `the file of a part of the type ${type} cannot be read: send it in base64, as a data URL, or by the file_id that POST /api/v1/files returned as ref`,
  );
}

function noRemote(type: string) {
  return invalid(
    "messages",
    `a part of the type ${type} names a web address, and the gateway loads nothing from there: send the file as a data URL`,
  );
}

/**
 * Returns the whole conversation; a single message is unchanged. When a session has the earlier messages, only the last message
 * is used, with the client's instructions, which a session does not store.
 */
export function inputOf(messages: readonly ChatMessage[], hasSession: boolean): InputPiece[] {
  const all = messages
    .map((message) => ({ role: message.role, pieces: piecesOf(message) }))
    .filter(({ pieces }) => pieces.some((piece) => !("text" in piece) || piece.text !== ""));
  const last = all.at(-1);
  if (last === undefined) throw invalid("messages", "there is no message with text or a file");
  const said = hasSession ? all.filter((one) => one === last || INSTRUCTS.has(one.role)) : all;
  if (said.length === 1) return last.pieces;
  const whole = new Pieces("What was said before:\n\n");
  for (const { role, pieces } of said.slice(0, -1)) whole.add(`${role}: `, pieces, "\n\n");
  whole.add(`Now ${last.role} says:\n\n`, last.pieces, "");
  return whole.pieces;
}

/** Collects the pieces of several messages, with the texts between two files as one. */
class Pieces {
  readonly pieces: InputPiece[] = [];

  constructor(beginning: string) {
    this.#text(beginning);
  }

  add(before: string, message: readonly InputPiece[], after: string): void {
    this.#text(before);
    for (const [index, piece] of message.entries()) {
      if (index > 0) this.#text("\n");
      if ("text" in piece) this.#text(piece.text);
      else this.pieces.push(piece);
    }
    this.#text(after);
  }

  #text(text: string): void {
    const last = this.pieces.at(-1);
    if (text === "") return;
    if (last === undefined || !("text" in last)) this.pieces.push({ text });
    else this.pieces.splice(-1, 1, { text: last.text + text });
  }
}
