import type { Conformance, SkillTarget } from "@switchyard/contracts/skill-importer/skills";
import { METADATA_ALIASES } from "./skill-requirements.ts";
import { isMapping, type YamlMapping, type YamlValue } from "../frontmatter/yaml-value.ts";

/** A file as it was written, as a client without repairs reads it. */
export interface WrittenSkill {
  /** Null: no frontmatter, or one that is not YAML. */
  readonly values: YamlMapping | null;
  /** The frontmatter's text, empty when there is none. */
  readonly yaml: string;
  readonly linesBefore: number;
  readonly directoryName: string;
  readonly sizeBytes: number;
  readonly hasByteOrderMark: boolean;
  /** Set when the frontmatter is not valid as written: the position and the mistake. */
  readonly broken: Problem | null;
}

type Problem = Conformance["problems"][number];
/** Notes a problem of the field with this key, or of the whole file. */
type Say = (key: string | null, code: string, message: string) => void;
type Rule = (skill: WrittenSkill, values: YamlMapping, say: Say) => void;

/** Checks a file by the rules of every target. */
export function conformanceOf(skill: WrittenSkill): Conformance[] {
  // Targets share rules; each rule is evaluated once.
  const known = new Map<Rule, readonly Problem[]>();
  return TARGETS.map(({ target, rules, isBare }) => {
    const problems = problemsOf(skill, { rules, isBare, known });
    return { target, conforms: problems.length === 0, problems };
  });
}

function problemsOf(
  skill: WrittenSkill,
  options: { rules: readonly Rule[]; isBare: boolean; known: Map<Rule, readonly Problem[]> },
): Problem[] {
  const { rules, isBare, known } = options;
  const { values, broken } = skill;
  if (broken !== null) return [broken];
  if (values === null) {
    const message = "there is no frontmatter between two lines ---";
    return isBare ? [] : [{ code: "no_frontmatter", message, line: null }];
  }
  return rules.flatMap((rule) => {
    const before = known.get(rule);
    if (before !== undefined) return before;
    const found: Problem[] = [];
    rule(skill, values, (key, code, message) =>
      found.push({ code, message, line: key === null ? null : lineOf(skill, key) }),
    );
    known.set(rule, found);
    return found;
  });
}

const SIX = new Set([
  "name",
  "description",
  "license",
  "compatibility",
  "metadata",
  "allowed-tools",
]);
const FLAG = /^(?:true|false|yes|no|on|off|1|0)$/i;
const SEMVER = /^v?\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/;
const OPENCLAW_LIMIT_BYTES = 256_000;
const INSTALL_KINDS = new Set(["brew", "node", "go", "uv", "download"]);

const onlySixKeys: Rule = (_skill, values, say) => {
  for (const key of Object.keys(values))
    if (!SIX.has(key)) say(key, "unexpected_key", `the key ${key} is not allowed`);
};

const standardName: Rule = (skill, values, say) => {
  const name = textOf(values["name"]);
  const { directoryName } = skill;
  if (name === "") return say("name", "name_missing", "name is required");
  if (name.length > 64) say("name", "name_too_long", "name has more than 64 characters");
  if (!/^[\p{Ll}\p{Lo}\p{Nd}]+(?:-[\p{Ll}\p{Lo}\p{Nd}]+)*$/u.test(name))
    say("name", "name_pattern", "name must be lowercase letters, digits and single hyphens");
  if (name !== directoryName)
    say("name", "name_differs", `name must be the directory's name, ${directoryName}`);
};

const describedIn =
  (maximum: number): Rule =>
  (_skill, values, say) => {
    const description = textOf(values["description"]);
    if (description === "")
      return say("description", "description_missing", "description is required, as text");
    const message = `description has more than ${maximum} characters`;
    if (description.length > maximum) say("description", "description_too_long", message);
  };

const standardFields: Rule = (_skill, values, say) => {
  const { compatibility, metadata, "allowed-tools": tools } = values;
  const { length } = textOf(compatibility);
  if (compatibility !== undefined && (length === 0 || length > 500))
    say("compatibility", "compatibility_length", "compatibility must have 1 to 500 characters");
  const isTextMap =
    isMapping(metadata) && Object.values(metadata).every((value) => typeof value === "string");
  if (metadata !== undefined && !isTextMap)
    say("metadata", "metadata_not_text", "metadata must be a mapping from text to text");
  if (tools !== undefined && (typeof tools !== "string" || hasOuterComma(tools)))
    say("allowed-tools", "allowed_tools_form", "allowed-tools must be text with spaces between");
};

const anthropicWords: Rule = (_skill, values, say) => {
  const name = textOf(values["name"]);
  const tag = /<[a-z/][^>]*>/i;
  if (/anthropic|claude/i.test(name))
    say("name", "reserved_word", "name must not contain anthropic or claude");
  if (tag.test(name)) say("name", "xml_tag", "name must not contain XML tags");
  if (tag.test(textOf(values["description"])))
    say("description", "xml_tag", "description must not contain XML tags");
};

const flags =
  (...keys: readonly string[]): Rule =>
  (_skill, values, say) => {
    for (const key of keys)
      if (values[key] !== undefined && !FLAG.test(textOf(values[key])))
        say(key, "not_a_flag", `${key} must be true or false`);
  };

const oneOf =
  (key: string, allowed: readonly string[]): Rule =>
  (_skill, values, say) => {
    if (values[key] !== undefined && !allowed.includes(textOf(values[key])))
      say(key, "unknown_value", `${key} must be one of ${allowed.join(", ")}`);
  };

const metadataIsMap: Rule = (_skill, { metadata }, say) => {
  if (metadata !== undefined && !isMapping(metadata))
    say("metadata", "metadata_not_a_mapping", "metadata that is not a mapping is dropped");
};

const readAliases =
  (...read: readonly string[]): Rule =>
  (_skill, { metadata }, say) => {
    if (!isMapping(metadata) || read.some((alias) => metadata[alias] !== undefined)) return;
    for (const alias of METADATA_ALIASES)
      if (isMapping(metadata[alias]))
        say("metadata", "ignored_alias", `metadata.${alias} is not read; call it ${read[0]}`);
  };

const installKinds: Rule = (_skill, { metadata }, say) => {
  const part = isMapping(metadata) ? (metadata["openclaw"] ?? metadata["clawdbot"]) : undefined;
  const install = isMapping(part) ? part["install"] : undefined;
  for (const item of Array.isArray(install) ? install : []) {
    const kind = isMapping(item) ? textOf(item["kind"]) : "";
    const message = `install kind ${JSON.stringify(kind)} is dropped`;
    if (!INSTALL_KINDS.has(kind)) say("metadata", "unknown_install_kind", message);
  }
};

const fileSize: Rule = ({ sizeBytes }, _values, say) => {
  if (sizeBytes > OPENCLAW_LIMIT_BYTES)
    say(null, "file_too_large", `the file has more than ${OPENCLAW_LIMIT_BYTES} bytes`);
};

const noByteOrderMark: Rule = ({ hasByteOrderMark }, _values, say) => {
  if (hasByteOrderMark)
    say(null, "byte_order_mark", "a byte order mark hides the frontmatter; save without it");
};

const semanticVersion: Rule = (_skill, { version }, say) => {
  if (version !== undefined && !SEMVER.test(textOf(version)))
    say("version", "version_not_semver", "version must be of the form 1.2.3");
};

const STANDARD = [onlySixKeys, standardName, describedIn(1024), standardFields];

/** `isBare`: a file without frontmatter is accepted. */
const TARGETS: readonly {
  readonly target: SkillTarget;
  readonly rules: readonly Rule[];
  readonly isBare: boolean;
}[] = [
  { target: "agent-skills", rules: STANDARD, isBare: false },
  {
    target: "claude-code",
    rules: [
      flags("disable-model-invocation", "user-invocable", "background"),
      oneOf("effort", ["low", "medium", "high", "xhigh", "max"]),
      oneOf("context", ["fork"]),
      oneOf("shell", ["bash", "powershell"]),
      metadataIsMap,
    ],
    isBare: true,
  },
  { target: "claude-ai", rules: [...STANDARD, anthropicWords], isBare: false },
  {
    target: "openclaw",
    rules: [
      describedIn(Infinity),
      flags("user-invocable", "disable-model-invocation"),
      oneOf("command-dispatch", ["tool"]),
      oneOf("command-arg-mode", ["raw"]),
      readAliases("openclaw", "clawdbot"),
      installKinds,
      fileSize,
    ],
    isBare: false,
  },
  {
    target: "clawhub",
    rules: [readAliases("openclaw", "clawdbot", "clawdis"), semanticVersion, noByteOrderMark],
    isBare: true,
  },
];

/** Null for a key that does not begin a line of the frontmatter. */
function lineOf({ yaml, linesBefore }: WrittenSkill, key: string): number | null {
  const index = yaml.split("\n").findIndex((text) => text.startsWith(`${key}:`));
  return index < 0 ? null : index + 1 + linesBefore;
}

function textOf(value: YamlValue | undefined): string {
  return typeof value === "string" ? value.trim() : "";
}

/** True for a comma outside brackets: `Bash(a, b)` is one entry. */
function hasOuterComma(text: string): boolean {
  return text.replaceAll(/\([^()]*\)/g, "").includes(",");
}
