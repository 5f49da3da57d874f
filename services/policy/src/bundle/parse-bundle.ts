import { Bundle, bundleKeys } from "./bundle.ts";
import { explainIssue, repeatedIds } from "../engine/explain-issue.ts";
import { problemLines, readYaml, type Checked, type FileProblem } from "./yaml-file.ts";

/** A policy file that is refused as a whole. The message lists every problem as `file:line:column: what`. */
export class BundleError extends Error {
  override readonly name = "BundleError";
  readonly file: string;
  readonly problems: readonly FileProblem[];

  constructor(file: string, problems: readonly FileProblem[]) {
    super(`policy refused\n${problemLines(file, problems).join("\n")}`);
    this.file = file;
    this.problems = problems;
  }

  /** The problems as lines for people. */
  get lines(): string[] {
    return problemLines(this.file, this.problems);
  }
}

/** Reads a policy file's text. Throws a {@link BundleError} that names every problem with its place. */
export function parseBundle(source: { readonly file: string; readonly text: string }): Bundle {
  const { value, problems } = readYaml(source.text, checkBundle);
  if (value !== null) return value;
  throw new BundleError(source.file, problems);
}

function checkBundle(content: unknown): Checked<Bundle> {
  const parsed = Bundle.safeParse(content, { reportInput: true });
  const problems = parsed.success
    ? repeatedIds(parsed.data)
    : parsed.error.issues.flatMap((issue) => explainIssue(issue, bundleKeys));
  if (parsed.success && problems.length === 0) return { value: parsed.data, problems: [] };
  return { value: null, problems };
}
