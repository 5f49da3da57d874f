import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { until } from "@switchyard/local-servers/until";

const MAIN = join(import.meta.dirname, "..", "src", "main.ts");

export interface PseudoTerminal {
  /** Types a line and presses Enter. */
  line(text: string): void;
  /** Presses Ctrl and a letter. */
  control(letter: "c" | "d"): void;
  /** Resolves when this appears behind what was waited for before; with all that came up to it, without escapes. */
  shows(text: string): Promise<string>;
  /** All that was shown, as it was written. */
  raw(): string;
  readonly exited: Promise<number | null>;
}

/** Runs `yard` in a terminal of `script` (bsdutils, which every Debian has). */
export function yardInTerminal(
  args: readonly string[],
  { env, columns = 80 }: { readonly env: NodeJS.ProcessEnv; readonly columns?: number },
): PseudoTerminal {
  const words = [process.execPath, MAIN, ...args].map(
    (word) => `'${word.replaceAll("'", `'\\''`)}'`,
  );
  const command = `stty rows 24 cols ${columns} -echo; exec ${words.join(" ")}`;
  const child = spawn("script", ["-qfec", command, "/dev/null"], { env });
  let shown = "";
  let seen = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
  const exited = once(child, "close").then(([code]) => code as number | null);
  after(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const plain = (): string => stripVTControlCharacters(shown).replaceAll("\r", "");
  return {
    line: (text) => void child.stdin.write(`${text}\r`),
    control: (letter) => void child.stdin.write(letter === "c" ? "\u0003" : "\u0004"),
    async shows(text) {
      try {
        await until(
          () => plain().indexOf(text, seen),
          (at) => at >= 0,
          { timeoutMs: 60_000 },
        );
      } catch (cause) {
        throw new Error(`${text} did not come after:\n${plain().slice(seen)}`, { cause });
      }
      const end = plain().indexOf(text, seen) + text.length;
      const part = plain().slice(seen, end);
      seen = end;
      return part;
    },
    raw: () => shown,
    exited,
  };
}
