import { fromBase64, fromHex, ranges, reversed, translated, withoutEscapes } from "./ciphers.ts";

/** Returns the output of a pipeline of constants, such as `echo lruc | rev`; null where it cannot be computed. */
export function shellOutput(pipeline: string): string | null {
  let text: string | null = null;
  for (const [index, stage] of stagesOf(pipeline).entries()) {
    if (index > 8) return null;
    text = index === 0 ? firstOutput(stage) : filtered(stage, text ?? "");
    if (text === null) return null;
  }
  return text;
}

/** The commands of a pipeline, split at each `|` outside of quotes. */
export function stagesOf(pipeline: string): string[] {
  const stages: string[] = [];
  let stage = "";
  let quote = "";
  for (let at = 0; at < pipeline.length; at += 1) {
    const one = pipeline[at] ?? "";
    if (one === "\\" && quote !== "'") {
      stage += one + (pipeline[at + 1] ?? "");
      at += 1;
    } else if (quote === "" && one === "|") {
      stages.push(stage);
      stage = "";
    } else {
      if (quote === one) quote = "";
      else if (quote === "" && (one === '"' || one === "'")) quote = one;
      stage += one;
    }
  }
  return [...stages, stage];
}

const WORD = /"((?:[^"\\]|\\.)*)"|\$?'([^']*)'|([^\s"']+)/g;

function wordsOf(text: string): string[] {
  return [...text.matchAll(WORD)].map(([, double, single, bare]) => double ?? single ?? bare ?? "");
}

function firstOutput(stage: string): string | null {
  const here = /^([^<]{2,60})<<<\s*(.+)$/s.exec(stage.trim());
  if (here !== null) return filtered(here[1] ?? "", wordsOf(here[2] ?? "").join(" "));
  const [command = "", ...given] = wordsOf(stage.trim());
  if (command === "echo") {
    const words = given.filter((word) => !/^-[neE]+$/.test(word));
    return withoutEscapes(words.join(" "));
  }
  return command === "printf" ? printed(given) : null;
}

function printed([format = "", ...values]: string[]): string | null {
  let next = 0;
  const text = format.replaceAll(/%(?:[sdixXb]|%)/g, (spec) =>
    spec === "%%"
      ? "%"
      : spec === "%x"
        ? Number(values[next++] ?? 0).toString(16)
        : (values[next++] ?? ""),
  );
  return withoutEscapes(text).replaceAll(String.raw`\n`, "\n");
}

function filtered(stage: string, text: string): string | null {
  const [command = "", ...given] = wordsOf(stage.trim());
  const flags = given.filter((word) => word.startsWith("-")).join(" ");
  const [first = "", second = ""] = given.filter((word) => !word.startsWith("-"));
  if (command === "rev") return text.split("\n").map(reversed).join("\n");
  if (command === "tac" || command === "cat") return text;
  if (command === "base64" || command === "openssl") return fromBase64(text);
  if (command === "xxd") return flags.includes("r") ? fromHex(text) : null;
  if (command === "tr") {
    if (/d/.test(flags))
      return text
        .split("")
        .filter((one) => !ranges(first).includes(one))
        .join("");
    return translated(text, first, second);
  }
  if (command === "sed") return substituted(first, text);
  return null;
}

/** `s/a/b/g` of a plain text or a simple pattern. */
function substituted(program: string, text: string): string | null {
  const [, mark = "/", rest = ""] = /^s([/|#,@!])(.*)$/.exec(program) ?? [];
  const [from, to, flags] = rest.split(mark);
  if (
    from === undefined ||
    from === "" ||
    to === undefined ||
    !/^[\w .:@#%^_+~-]{1,20}$/.test(from)
  )
    return null;
  return flags?.includes("g") === true ? text.replaceAll(from, to) : text.replace(from, to);
}
