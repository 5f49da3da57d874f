import { emitKeypressEvents } from "node:readline";
import { createInterface } from "node:readline/promises";
import { setTimeout as delay } from "node:timers/promises";

/** The keyboard of a terminal. */
export interface Keys {
  /**
   * Resolves when no key has been pressed for so many milliseconds, counted from now at the earliest; also when the signal aborts.
   * A terminal does not distinguish a key that repeats from one that is pressed repeatedly: one that is held down is never quiet.
   */
  quiet(ms: number, signal: AbortSignal): Promise<void>;
  /** The next one of these letters that is pressed; null when the signal aborts. */
  oneOf(letters: string, signal: AbortSignal): Promise<string | null>;
  /** A line of text; null when the person leaves instead. */
  line(question: string, signal: AbortSignal): Promise<string | null>;
  close(): void;
}

interface Key {
  readonly name?: string;
  readonly ctrl?: boolean;
}

/** Standard input, when it is a terminal. */
type Keyboard = NodeJS.ReadableStream & { setRawMode(isRaw: boolean): unknown };

/** Listens to single keys from now on, also while none is requested: `q`, Ctrl-D and Ctrl-C always work. */
export function openKeys(
  on: { leave: () => void; interrupt: () => void },
  { stdin, stdout }: { stdin: Keyboard; stdout: NodeJS.WritableStream } = process,
): Keys {
  let waiting: { letters: string; answer: (key: string) => void } | null = null;
  let lastKeyMs = 0;
  const onKey = (typed: unknown, { name: named, ctrl = false }: Key): void => {
    lastKeyMs = Date.now();
    // Signs such as ? have no name.
    const name = named ?? (typeof typed === "string" ? typed : "");
    if (ctrl && name === "c") on.interrupt();
    else if (name === "q" || (ctrl && name === "d")) on.leave();
    else if (name.length === 1 && waiting?.letters.includes(name)) waiting.answer(name);
  };
  const listen = (): void => {
    stdin.setRawMode(true);
    stdin.on("keypress", onKey);
    stdin.resume();
  };
  const pause = (): void => {
    stdin.off("keypress", onKey);
    stdin.setRawMode(false);
    stdin.pause();
  };
  emitKeypressEvents(stdin);
  stdin.on("end", on.leave);
  listen();
  return {
    async quiet(ms, signal) {
      const began = Date.now();
      for (;;) {
        const leftMs = Math.max(began, lastKeyMs) + ms - Date.now();
        if (leftMs <= 0 || signal.aborted) return;
        await delay(leftMs, undefined, { signal }).catch(() => undefined);
      }
    },
    async oneOf(letters, signal) {
      const { promise, resolve } = Promise.withResolvers<string | null>();
      const give = (): void => resolve(null);
      waiting = { letters, answer: resolve };
      if (signal.aborted) give();
      signal.addEventListener("abort", give, { once: true });
      try {
        return await promise;
      } finally {
        signal.removeEventListener("abort", give);
        waiting = null;
      }
    },
    async line(question, signal) {
      pause();
      const lines = createInterface({ input: stdin, output: stdout });
      const left = Promise.withResolvers<null>();
      lines.once("SIGINT", () => {
        on.interrupt();
        left.resolve(null);
      });
      // Ctrl-D, where the question would stay open for ever.
      lines.once("close", () => {
        on.leave();
        left.resolve(null);
      });
      try {
        const text = await Promise.race([lines.question(question, { signal }), left.promise]);
        lines.removeAllListeners("close");
        return text === null ? null : text.trim();
      } catch (error) {
        if (signal.aborted) return null;
        throw error;
      } finally {
        lines.close();
        listen();
      }
    },
    close() {
      pause();
      stdin.off("end", on.leave);
    },
  };
}
