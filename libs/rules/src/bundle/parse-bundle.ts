/* oxlint-disable oxc/no-map-spread -- the entries are shared with the caller, so they have to be copied */
import { explainIssue, repeatedIds, WITH_IDS } from "./explain-issue.ts";
import { groupNamed } from "../schema/approve-schema.ts";
import { isTemporal, type Condition } from "../schema/condition-schema.ts";
import { isListFile, MAX_LISTS, readList } from "../schema/list-file.ts";
import { MAX_WINDOWS } from "../schema/window-schema.ts";
import { unknownProfiles } from "../schema/layer-schema.ts";
import { toolProfileNames } from "../schema/tool-profiles.ts";
import { BundleFile, bundleKeys, type Bundle } from "../schema/bundle.ts";
import {
  problemLine,
  readYaml,
  type Checked,
  type FileProblem,
  type ShapeProblem,
} from "@switchyard/service/yaml-file";

export interface SourceFile {
  readonly file: string;
  readonly text: string;
}

export interface BundleProblem extends FileProblem {
  readonly file: string;
}

/** A policy that is rejected as a whole. The message lists every problem as `file:line:column: what`. */
export class BundleError extends Error {
  override readonly name = "BundleError";
  readonly problems: readonly BundleProblem[];

  constructor(problems: readonly BundleProblem[]) {
    super(
      `policy refused\n${problems.map((problem) => problemLine(problem.file, problem)).join("\n")}`,
    );
    this.problems = problems;
  }

  /** The problems as lines for people. */
  get lines(): string[] {
    return this.problems.map((problem) => problemLine(problem.file, problem));
  }
}

/** Reads a policy of one file. Throws a {@link BundleError} that lists every problem with its position. */
export function parseBundle(source: SourceFile): Bundle {
  return parseBundleFiles([source]);
}

/** Reads all files of a policy, in any order. Throws a {@link BundleError} that names every problem of all of them. */
export function parseBundleFiles(sources: readonly SourceFile[]): Bundle {
  const inOrder = sources
    .filter(({ file }) => !isListFile(file))
    .toSorted((a, b) => (a.file < b.file ? -1 : 1));
  const read = inOrder.map(({ file, text }) => ({ file, yaml: readYaml(text, checkFile) }));
  const broken = read.flatMap(({ file, yaml }) =>
    yaml.problems.map((problem) => ({ file, ...problem })),
  );
  if (broken.length > 0) throw new BundleError(broken);
  const parts = read.flatMap(({ file, yaml }) =>
    yaml.value === null ? [] : [{ file, value: yaml.value, positionOf: yaml.positionOf }],
  );
  const problems = [
    ...repeatedAcross(parts),
    ...repeatedSections(parts),
    ...undefinedProfiles(parts),
    ...undefinedGroups(parts),
    ...sharedNames(parts),
    ...missingRules(parts),
    ...surplusWindows(parts),
  ];
  const lists = listsOf(parts, sources);
  problems.push(...lists.problems);
  if (problems.length > 0) throw new BundleError(problems);
  const bundle = merged(parts.map(({ value }) => value));
  return Object.keys(lists.entries).length === 0 ? bundle : { ...bundle, lists: lists.entries };
}

interface Part {
  readonly file: string;
  readonly value: BundleFile;
  readonly positionOf: (path: readonly PropertyKey[]) => { line: number; column: number };
}

function checkFile(content: unknown): Checked<BundleFile> {
  const parsed = BundleFile.safeParse(content, { reportInput: true });
  const problems = parsed.success
    ? repeatedIds(parsed.data)
    : parsed.error.issues.flatMap((issue): ShapeProblem[] => explainIssue(issue, bundleKeys));
  if (parsed.success && problems.length === 0) return { value: parsed.data, problems: [] };
  return { value: null, problems };
}

const ONCE = ["defaults", "owners", "subAgents", "origins"] as const;

/** Reports the first condition on earlier calls beyond the limit of a whole policy. */
function surplusWindows(parts: readonly Part[]): BundleProblem[] {
  const windows = parts.flatMap(({ file, value, positionOf }) =>
    (value.rules ?? []).flatMap(({ when = [] }, rule) =>
      when.flatMap((condition, index) =>
        isTemporal(condition) ? [{ file, ...positionOf(["rules", rule, "when", index]) }] : [],
      ),
    ),
  );
  const surplus = windows[MAX_WINDOWS];
  if (surplus === undefined) return [];
  const message = `the policy has more than ${MAX_WINDOWS} conditions on earlier calls`;
  return [{ ...surplus, message }];
}

/** Reads the files that `inFile` names, each once. */
function listsOf(
  parts: readonly Part[],
  sources: readonly SourceFile[],
): { readonly entries: Record<string, readonly string[]>; readonly problems: BundleProblem[] } {
  const entries: Record<string, readonly string[]> = {};
  const problems: BundleProblem[] = [];
  const uses = parts.flatMap(({ file, value, positionOf }) =>
    (value.rules ?? []).flatMap(({ when = [] }, rule) =>
      when.flatMap((condition, index) => {
        const name = listNameOf(condition);
        return name === null ? [] : [{ file, name, ...positionOf(["rules", rule, "when", index]) }];
      }),
    ),
  );
  for (const { name, ...position } of new Map(uses.map((use) => [use.name, use])).values()) {
    const source = sources.find(({ file }) => file === name);
    const list = source === undefined ? null : readList(source.text);
    if (list === null)
      problems.push({ ...position, message: `there is no list ${name} beside the rules` });
    else if (list.problem !== null) problems.push({ file: name, column: 1, ...list.problem });
    else entries[name] = list.entries;
  }
  if (Object.keys(entries).length <= MAX_LISTS) return { entries, problems };
  const message = `the policy uses more than ${MAX_LISTS} lists`;
  return {
    entries,
    problems: [...problems, { file: parts[0]?.file ?? "policy", line: 1, column: 1, message }],
  };
}

function listNameOf(condition: Condition): string | null {
  const argument = "not" in condition ? condition.not : condition;
  return "op" in argument && argument.op === "inFile" ? argument.value : null;
}

/** Reports ids that occur in two files; duplicates within one file were reported before. */
function repeatedAcross(parts: readonly Part[]): BundleProblem[] {
  return WITH_IDS.flatMap((section) => {
    const first = new Map<string, string>();
    return parts.flatMap((part) => {
      const { file, value, positionOf } = part;
      return (value[section] ?? []).flatMap(({ id }, index) => {
        const position = positionOf([section, index, "id"]);
        const earlier = first.get(id);
        if (earlier === undefined) {
          first.set(id, `${section}[${index}] of ${file}:${position.line}`);
          return [];
        }
        const message = `${section}[${index}].id ${JSON.stringify(id)} is already the id of ${earlier}`;
        return [{ file, ...position, message }];
      });
    });
  });
}

/** Reports sections that may occur only once in the whole bundle, and repeated names of profiles. */
function repeatedSections(parts: readonly Part[]): BundleProblem[] {
  const sections = ONCE.flatMap((section) => {
    const [first, ...others] = parts.filter(({ value }) => value[section] !== undefined);
    if (first === undefined) return [];
    const earlier = `${first.file}:${first.positionOf([section]).line}`;
    return others.map(({ file, positionOf }) => ({
      file,
      ...positionOf([section]),
      message: `${section} is already defined in ${earlier}; a bundle may define it only once`,
    }));
  });
  const first = new Map<string, string>(toolProfileNames.map((name) => [name, "built in"]));
  const profiles = parts.flatMap(({ file, value, positionOf }) =>
    Object.keys(value.profiles ?? {}).flatMap((name) => {
      const position = positionOf(["profiles", name]);
      const earlier = first.get(name);
      first.set(name, earlier ?? `defined in ${file}:${position.line}`);
      if (earlier === undefined) return [];
      return [
        { file, ...position, message: `profile ${JSON.stringify(name)} is ${earlier} already` },
      ];
    }),
  );
  return [...sections, ...profiles];
}

function undefinedProfiles(parts: readonly Part[]): BundleProblem[] {
  const defined = parts.flatMap(({ value }) => Object.keys(value.profiles ?? {}));
  const known = [...toolProfileNames, ...defined].join(", ");
  return parts.flatMap(({ file, value, positionOf }) =>
    unknownProfiles(value.layers ?? [], defined).map(({ index, name }) => ({
      file,
      ...positionOf(["layers", index, "profile"]),
      message: `layers[${index}].profile ${JSON.stringify(name)} is not defined; there are ${known}`,
    })),
  );
}

function undefinedGroups(parts: readonly Part[]): BundleProblem[] {
  const defined = new Set(parts.flatMap(({ value }) => (value.groups ?? []).map(({ id }) => id)));
  const known = defined.size === 0 ? "there are none" : `there are ${[...defined].join(", ")}`;
  return parts.flatMap(({ file, value, positionOf }) =>
    (value.rules ?? []).flatMap(({ approve }, index) => {
      const lists = [
        { names: approve?.from ?? [], at: ["from"] },
        { names: approve?.escalate?.to ?? [], at: ["escalate", "to"] },
      ];
      return lists.flatMap(({ names, at }) =>
        names.flatMap((name, entry) => {
          const group = groupNamed(name);
          if (group === null || defined.has(group)) return [];
          const path = ["rules", index, "approve", ...at, entry];
          const label = `rules[${index}].approve.${at.join(".")}[${entry}]`;
          const message = `${label} ${JSON.stringify(name)} is not defined in groups; ${known}`;
          return [{ file, ...positionOf(path), message }];
        }),
      );
    }),
  );
}

/** A user name of two people would let one person count as two. */
function sharedNames(parts: readonly Part[]): BundleProblem[] {
  const first = new Map<string, string>();
  return parts.flatMap(({ file, value, positionOf }) =>
    (value.people ?? []).flatMap(({ id, users }, index) =>
      [...new Set([id, ...users])].flatMap((name) => {
        const earlier = first.get(name);
        first.set(name, earlier ?? id);
        if (earlier === undefined || earlier === id) return [];
        const message = `people[${index}] has the user ${name}, whom people ${earlier} has already`;
        return [{ file, ...positionOf(["people", index]), message }];
      }),
    ),
  );
}

function missingRules(parts: readonly Part[]): BundleProblem[] {
  const rules = parts.reduce((sum, { value }) => sum + (value.rules?.length ?? 0), 0);
  const file = parts[0]?.file ?? "policy";
  if (rules === 0) return [{ file, line: 1, column: 1, message: "rules is missing" }];
  if (rules <= 10_000) return [];
  return [{ file, line: 1, column: 1, message: "the files have more than 10,000 rules together" }];
}

function merged(files: readonly BundleFile[]): Bundle {
  const all = (section: Exclude<(typeof WITH_IDS)[number], "rules"> | "labels") => {
    const entries = files.flatMap((file): unknown[] => file[section] ?? []);
    return entries.length === 0 ? {} : { [section]: entries };
  };
  const once = files.map(({ defaults, owners, subAgents, origins }) => ({
    ...(defaults && { defaults }),
    ...(owners && { owners }),
    ...(subAgents && { subAgents }),
    ...(origins && { origins }),
  }));
  const profiles = Object.assign({}, ...files.map((file) => file.profiles ?? {})) as NonNullable<
    BundleFile["profiles"]
  >; // of parsed files only
  return {
    version: 1,
    ...(Object.assign({}, ...once) as Partial<Bundle>), // sections of parsed files only
    ...(Object.keys(profiles).length === 0 ? {} : { profiles }),
    ...all("labels"),
    ...all("layers"),
    ...all("budgets"),
    ...all("starters"),
    ...all("rights"),
    ...all("approvers"),
    ...all("groups"),
    ...all("people"),
    ...all("deputies"),
    ...all("results"),
    rules: files.flatMap(({ rules }) => rules ?? []),
  };
}
