import { basename } from "node:path";
import { exportCedar } from "@switchyard/rules/cedar/export-cedar";
import { importCedar, rulesText } from "@switchyard/rules/cedar/import-cedar";
import { splitTexts, validate } from "@switchyard/rules/engine/validate";
import { CliError } from "../cli-error.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { readPolicyFile, readPolicyFiles } from "./policy-files.ts";

/** Prints rules for the policies of a file of Cedar or Dogwood, and lists what is different from them. */
export async function importPolicies(
  terminal: Terminal,
  language: string,
  path: string,
  options: { readonly resource?: string; readonly json?: true },
): Promise<void> {
  requireLanguage(language, ["cedar", "dogwood"]);
  const { text: policies } = await readPolicyFile(path);
  const imported = importCedar(policies, options);
  const { notes, rules } = imported;
  const failed = notes.filter(({ kind }) => kind === "failed");
  if (failed.length > 0) {
    const lines = failed.map(({ line, policy, reason }) =>
      policy === "" ? `${path}:${line}: ${reason}` : `${path}:${line}: ${policy}: ${reason}`,
    );
    throw new CliError("invalid_config", `the policies are not imported\n${lines.join("\n")}`, {
      hint: "no rules deny as much as these policies; change them, or leave them out",
    });
  }
  if (rules.length === 0) {
    const lines = notes.map(({ line, reason }) => `${path}:${line}: ${reason}`);
    throw new CliError("invalid_config", `no policy could be imported\n${lines.join("\n")}`, {
      hint: "docs/reference/cedar.md lists what is imported",
    });
  }
  const text = rulesText(imported, basename(path));
  const [problem] = validate({ files: [{ name: "imported.yaml", text }], tests: [] }).problems;
  if (problem !== undefined)
    throw new CliError("invalid_config", `the rules are refused: ${problem.message}`, {
      hint: "import the policies in several files",
    });
  if (options.json)
    return writeJson(terminal, { policies: imported.policies, rules: rules.length, text, notes });
  terminal.out(text.trimEnd());
  for (const { line, policy, kind, reason } of notes)
    terminal.note(`${path}:${line}: ${policy}: ${kind}: ${reason}`);
}

/** Prints the rules of a file or directory as Cedar policies, and lists what Cedar does not say. */
export async function exportPolicies(
  terminal: Terminal,
  language: string,
  path: string,
  { json }: { readonly json?: true },
): Promise<void> {
  requireLanguage(language, ["cedar"]);
  const { parsed, problems } = validate(splitTexts(await readPolicyFiles(path)));
  if (parsed === null) {
    const [first] = problems;
    throw new CliError(
      "usage",
      `${first?.file ?? path}:${first?.line ?? 1}: ${first?.message ?? "it is not a policy"}`,
      { hint: `see all that is wrong: ./yard policy lint ${path}` },
    );
  }
  const { text, notes } = exportCedar(parsed);
  if (json) return writeJson(terminal, { text, notes });
  terminal.out(text.trimEnd());
  for (const { rule, reason } of notes) terminal.note(`${rule}: ${reason}`);
}

function requireLanguage(language: string, known: readonly string[]): void {
  if (!known.includes(language))
    throw new CliError("usage", `unknown language ${language}; there is ${known.join(" and ")}`);
}
