import { CliError } from "./cli-error.ts";

const MAX_BYTES = 1024 * 1024;

/** The text that an argument stands for: `-` is standard input, up to its end. */
export async function textOrStandardInput(text: string): Promise<string> {
  if (text !== "-") return text;
  if (process.stdin.isTTY)
    throw new CliError("usage", "- reads the text from standard input, which is a terminal here", {
      hint: "pipe it in: echo hello | ./yard run demo -",
    });
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES)
      throw new CliError("usage", `standard input has more than ${MAX_BYTES} bytes`, {
        hint: "name a file for the agent to read instead",
      });
    chunks.push(chunk);
  }
  return textOf(Buffer.concat(chunks)).trimEnd();
}

/** Decodes text. Throws for bytes that are none, such as an image: a model would get replacement characters. */
function textOf(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes);
  checkIsText(text);
  return text;
}

/** Throws when the text was decoded from bytes that are not text. A replacement character that was typed is as little use to a model. */
export function checkIsText(text: string): void {
  if (!/[\0\uFFFD]/.test(text)) return;
  throw new CliError(
    "usage",
    "standard input is not text in UTF-8; an image or another file is no message",
    { hint: 'send a file with: ./yard run AGENT "…" --file PATH' },
  );
}
