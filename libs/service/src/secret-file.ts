import { readFile } from "node:fs/promises";
import { StartError } from "./start-error.ts";

/**
 * The content of a file with one secret, without the white space around it. `variable` is the
 * environment variable that named the file, for the message. Throws a StartError when the file
 * cannot be read or is empty; the content is never part of a message.
 */
export async function readSecretFile(path: string, variable: string): Promise<string> {
  const hint = `let ${variable} name a readable file that holds nothing but the secret`;
  let content: string;
  try {
    content = await readFile(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    throw new StartError(`${variable}: cannot read ${path} (${code})`, { hint, cause: error });
  }
  const secret = content.trim();
  if (secret === "") throw new StartError(`${variable}: ${path} is empty`, { hint });
  return secret;
}
