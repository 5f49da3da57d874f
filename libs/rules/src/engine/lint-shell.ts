import type { LintFinding } from "@switchyard/contracts/policy/policy-texts";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { matchesTool } from "@switchyard/contracts/tool-patterns";
import type { Rule } from "../schema/bundle.ts";
import { toolPatternsOf } from "../schema/tool-selectors.ts";

const COMMAND = builtinToolRef("execute_command");

/**
 * Finds allow rules that check the beginning or the form of a command and leave `shell` to the caller: a shell also runs text
 * after `;`, `|` or in `$( )`, so they allow any command. A rule about `shell` is assumed to exclude it.
 */
export function openShells(rules: readonly Rule[]): LintFinding[] {
  const about = rules.filter(isAboutCommands);
  if (about.some(({ effect, when }) => effect === "deny" && when?.some(isAboutShell) === true))
    return [];
  return about
    .filter(({ effect }) => effect === "allow")
    .filter(({ when = [] }) => when.some(looksAtForm) && !when.some(isAboutShell))
    .map(({ id }) => ({
      kind: "open-shell",
      rule: id,
      message: `rule ${id} allows any command: with shell: true the text after ; or | or within $( ) is run as well; add { arg: /shell, op: absent }`,
    }));
}

function isAboutCommands({ what }: Rule): boolean {
  const patterns = toolPatternsOf(what);
  return patterns === null || patterns.some((pattern) => matchesTool(pattern, COMMAND));
}

type Condition = NonNullable<Rule["when"]>[number];

const FORMS: ReadonlySet<string> = new Set(["prefix", "glob", "matches"]);

function looksAtForm(condition: Condition): boolean {
  return "arg" in condition && condition.arg === "/command" && FORMS.has(condition.op);
}

function isAboutShell(condition: Condition): boolean {
  if ("not" in condition) return isAboutShell(condition.not);
  return "arg" in condition && condition.arg === "/shell";
}
