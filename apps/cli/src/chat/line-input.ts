import { createInterface, type Interface } from "node:readline";
import type { Person } from "./decide.ts";

interface OpenQuestion {
  readonly answer: (line: string | null) => void;
}

/** Lines of a person or of a pipe. A question receives the next line; other lines are yielded one by one. */
export class LineInput implements Person {
  readonly #lines: Interface;
  readonly #queue: string[] = [];
  #question: OpenQuestion | null = null;
  #reader: ((line: string | null) => void) | null = null;
  #isOver = false;
  readonly isTerminal: boolean;

  constructor(options: {
    readonly history: string[];
    readonly completer: (line: string) => [string[], string];
    readonly onInterrupt: () => void;
  }) {
    const { history, completer, onInterrupt } = options;
    this.isTerminal = process.stdin.isTTY && process.stdout.isTTY;
    this.#lines = createInterface({
      input: process.stdin,
      output: process.stdout,
      terminal: this.isTerminal,
      history,
      historySize: 1_000,
      removeHistoryDuplicates: true,
      completer,
    });
    this.#lines.on("line", (line) => this.#take(line));
    this.#lines.on("SIGINT", onInterrupt);
    this.#lines.on("close", () => {
      this.#isOver = true;
      this.#question?.answer(null);
      if (this.#queue.length === 0) this.#reader?.(null);
    });
  }

  /** The next line; null after the last one. The prompt is shown unless it is empty. */
  next(prompt: string): Promise<string | null> {
    const line = this.#queue.shift();
    if (line !== undefined) return Promise.resolve(line);
    if (this.#isOver) return Promise.resolve(null);
    this.show(prompt);
    const { promise, resolve } = Promise.withResolvers<string | null>();
    this.#reader = resolve;
    return promise;
  }

  /** Shows a prompt below what was printed meanwhile, with what is already typed. */
  show(prompt: string): void {
    this.#lines.setPrompt(this.isTerminal ? prompt : "");
    if (this.isTerminal && !this.#isOver) this.#lines.prompt(true);
  }

  ask(question: string, signal: AbortSignal): Promise<string | null> {
    if (signal.aborted || this.#isOver) return Promise.resolve(null);
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const over = (): void => this.#question?.answer(null);
    this.#question = {
      answer: (line) => {
        this.#question = null;
        signal.removeEventListener("abort", over);
        this.#lines.setPrompt("");
        resolve(line);
      },
    };
    signal.addEventListener("abort", over, { once: true });
    this.show(question);
    return promise;
  }

  /** Stops reading while another program has the terminal. */
  async withTerminal<T>(use: () => Promise<T>): Promise<T> {
    this.#lines.pause();
    if (this.isTerminal) process.stdin.setRawMode(false);
    try {
      return await use();
    } finally {
      if (this.isTerminal) process.stdin.setRawMode(true);
      this.#lines.resume();
    }
  }

  close(): void {
    this.#lines.close();
  }

  #take(line: string): void {
    if (this.#question !== null) return this.#question.answer(line);
    const reader = this.#reader;
    if (reader === null) return void this.#queue.push(line);
    this.#reader = null;
    reader(line);
  }
}
