import { createInterface } from "node:readline/promises";
import type { Person } from "./decide.ts";

/** The person at standard input while a command follows a run; null without a terminal. */
export function terminalPerson(): Person | null {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return null;
  return {
    async ask(question, signal) {
      if (signal.aborted) return null;
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      // In a question Ctrl-C reaches the line editor alone; it means what it means elsewhere.
      lines.on("SIGINT", () => void process.kill(process.pid, "SIGINT"));
      const closed = new Promise<null>((resolve) => lines.once("close", () => resolve(null)));
      try {
        return await Promise.race([lines.question(question, { signal }), closed]);
      } catch (error) {
        if (signal.aborted) return null;
        throw error;
      } finally {
        lines.close();
      }
    },
  };
}
