import { z } from "zod";
import type { YamlMapping } from "../frontmatter/yaml-value.ts";

/** What a skill's frontmatter says about when it is used and what its slash command does. */
export interface InvocationFields {
  /** Words and phrases; missing when there are none. */
  readonly triggers?: string[];
  /** OpenClaw's `command-dispatch: tool`: the command calls this tool without a model. */
  readonly dispatch?: { readonly tool: string };
}

const TRIGGER_KEYS = ["when_to_use", "when-to-use", "whenToUse", "triggers", "tags", "keywords"];
const MAX_TRIGGERS = 32;
const MAX_TRIGGER_LENGTH = 1_024;

const Text = z.string().transform((text) => text.replaceAll(/\s+/g, " ").trim());
const Phrases = z.union([Text.transform((text) => [text]), z.array(Text)]);
const Tool = z.string().trim().min(1).max(128);

/**
 * Reads these fields out of values that are all text. They restrict nothing and grant nothing, so what cannot
 * be read counts as absent.
 */
export function readInvocation(values: YamlMapping): InvocationFields {
  // Nearly every file has none of these keys, and a schema takes its time to say so.
  const triggers = TRIGGER_KEYS.filter((key) => values[key] !== undefined)
    .flatMap((key) => Phrases.safeParse(values[key]).data ?? [])
    .map((phrase) => phrase.slice(0, MAX_TRIGGER_LENGTH).toWellFormed())
    .filter((phrase) => phrase !== "");
  const dispatch = values["command-dispatch"];
  const isDispatched = typeof dispatch === "string" && dispatch.trim().toLowerCase() === "tool";
  const tool = isDispatched ? Tool.safeParse(values["command-tool"]).data : undefined;
  return {
    ...(triggers.length === 0 ? {} : { triggers: [...new Set(triggers)].slice(0, MAX_TRIGGERS) }),
    ...(tool === undefined ? {} : { dispatch: { tool } }),
  };
}
