import { cutText } from "@switchyard/contracts/cut-text";
import { redactText } from "@switchyard/service/redact";
import type { Bus } from "@switchyard/bus/bus";
import { publishLive } from "@switchyard/bus/publish";
import { runTokens } from "@switchyard/contracts/ids";
import { runLive } from "@switchyard/contracts/agent-runner/run-events";

/** Receives the text that a model writes in the steps of a run. */
export interface StepListener {
  readonly onDelta: (step: number, text: string) => void;
  /** The text of this step so far is void: the call is made again. */
  readonly onReset: (step: number) => void;
  /** The answer of this step is whole. */
  readonly onAnswered: (step: number) => void;
}

/** Publishes a model's text live, without anything that looks like a secret. */
export function liveSteps(
  bus: Bus,
  { runId, requester }: { readonly runId: string; readonly requester: string },
): StepListener {
  const to = runTokens(runId, requester);
  const live = new LiveText((step, delta) => publishLive(bus, runLive, to, { runId, step, delta }));
  return {
    onDelta: (step, delta) => live.add(step, delta),
    onReset: (step) => {
      live.reset(step);
      publishLive(bus, runLive, to, { runId, step, delta: "", kind: "reset-step" });
    },
    onAnswered: (step) => live.end(step),
  };
}

/** The limit for one step, in characters; the text beyond it is in the journal. */
const MAX_SENT_CHARS = 16_384;
const MORE = "\n[live output truncated]";
/** No credential spans more words than this; a key in PEM is recognised by its beginning. */
const HELD_WORDS = 3;
const HELD_CHARS = 512;
/** The limit for one key or one word, in characters. */
const MAX_HELD = 16_384;

type PublishDelta = (step: number, delta: string) => void;

/**
 * Publishes the text of a model as it is written, without anything that looks like a secret. A secret may arrive in pieces, so the
 * last words are held back until more of the text, or its end, has arrived.
 */
export class LiveText {
  readonly #publish: PublishDelta;
  #step = 0;
  /** Whole words that were not published yet. */
  #held = "";
  /** The beginning of the word that is being written. */
  #word = "";
  #sentChars = 0;

  constructor(publish: PublishDelta) {
    this.#publish = publish;
  }

  add(step: number, delta: string): void {
    if (step !== this.#step) this.reset(step);
    if (this.#sentChars > MAX_SENT_CHARS) return;
    const end = startOfLastWords(delta, 0);
    if (end > 0) this.#held += this.#word + delta.slice(0, end);
    this.#word = end > 0 ? delta.slice(end) : this.#word + delta;
    // A word of such a length is not text that a person reads along.
    if (this.#word.length + this.#held.length > MAX_HELD) return this.#stop();
    if (end > 0) this.#publishSure();
  }

  #publishSure(): void {
    const open = this.#openKey();
    const clean = redactText(this.#held.slice(0, open));
    const from = Math.max(startOfLastWords(clean, HELD_WORDS), clean.length - HELD_CHARS);
    this.#held = clean.slice(from) + this.#held.slice(open);
    this.#say(clean.slice(0, from));
  }

  /** The step's text is whole. */
  end(step: number): void {
    if (step !== this.#step) return;
    if (this.#sentChars <= MAX_SENT_CHARS) this.#say(redactText(this.#held + this.#word));
    this.reset(0);
  }

  /** Restarts the step. */
  reset(step: number): void {
    this.#step = step;
    this.#held = "";
    this.#word = "";
    this.#sentChars = 0;
  }

  /** Finds a private key in the held text that has not ended; the text's length when there is none. */
  #openKey(): number {
    const at = this.#held.lastIndexOf("-----BEGIN ");
    return at < 0 || KEY_END.test(this.#held.slice(at)) ? this.#held.length : at;
  }

  #say(text: string): void {
    if (text === "") return;
    this.#sentChars += text.length;
    if (this.#sentChars > MAX_SENT_CHARS)
      return this.#stop(cutText(text, text.length - (this.#sentChars - MAX_SENT_CHARS)));
    this.#publish(this.#step, text);
  }

  #stop(last = ""): void {
    this.#sentChars = MAX_SENT_CHARS + 1;
    this.#held = "";
    this.#word = "";
    this.#publish(this.#step, last + MORE);
  }
}

const KEY_END = /-----END [A-Z\d ]{0,50}-----/;
/** Matches where a credential surely ends: white space, quotes, and characters that no alphabet of one contains. */
const WORD_END = /[\s"\u0250-\uffff]/;

/**
 * Returns where the last whole words of a text begin, with the unfinished one after them; `words: 0` selects the unfinished one
 * alone.
 */
function startOfLastWords(text: string, words: number): number {
  let seen = 0;
  for (let at = text.length; at > 0; at -= 1) {
    const isEnd = WORD_END.test(text.charAt(at - 1));
    if (isEnd && seen >= words) return at;
    if (isEnd && (at === 1 || !WORD_END.test(text.charAt(at - 2)))) seen += 1;
  }
  return 0;
}
