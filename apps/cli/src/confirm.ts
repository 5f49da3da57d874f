import { createInterface } from "node:readline/promises";
import { CliError } from "./cli-error.ts";

/** Asks a person; where there is none, `--yes` must have been given, so that nothing hangs. */
export async function confirm(
  question: string,
  { yes, json }: { readonly yes?: true; readonly json?: true },
): Promise<void> {
  if (yes === true) return;
  if (!process.stdin.isTTY || json === true)
    throw new CliError("usage", "this cannot be taken back", {
      hint: "add --yes to do it without a question",
    });
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await prompt.question(`${question} [y/N] `);
    if (!/^y(?:es)?$/i.test(answer.trim())) throw new CliError("interrupted", "nothing was done");
  } finally {
    prompt.close();
  }
}
