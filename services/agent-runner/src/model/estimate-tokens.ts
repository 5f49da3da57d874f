import type { FilePart } from "@switchyard/contracts/agent-runner/content-parts";
import type { ModelMessage } from "ai";
import { filesIn } from "../core/file-content.ts";
import type { OfferedTool } from "../core/tool-catalogue.ts";

/** About the tokens of an image: providers count 85 to 1,600, by its size. */
const IMAGE_TOKENS = 1_500;
/** A guess for sounds and PDFs, since both contain many bytes that are no text. */
const BYTES_PER_TOKEN = 50;

/** Estimates the tokens of a request: a quarter of its characters, plus those of its files. */
export function tokensOf({
  instructions,
  messages,
  tools,
}: {
  readonly instructions: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly OfferedTool[];
}): number {
  const texts = tokensOfChars(
    instructions.length + JSON.stringify(messages).length + JSON.stringify(tools).length,
  );
  return filesIn(messages).reduce((sum, file) => sum + tokensOfFile(file), texts);
}

function tokensOfFile({ mediaType, sizeBytes }: FilePart): number {
  if (mediaType.startsWith("image/")) return IMAGE_TOKENS;
  const isText = !mediaType.startsWith("audio/") && mediaType !== "application/pdf";
  return isText ? tokensOfChars(sizeBytes) : Math.ceil(sizeBytes / BYTES_PER_TOKEN);
}

export function tokensOfChars(chars: number): number {
  return Math.ceil(chars / 4);
}
