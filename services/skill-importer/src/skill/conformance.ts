import type { Conformance, SkillTarget } from "@switchyard/contracts/skills";
import { isMapping, type YamlMapping, type YamlValue } from "../frontmatter/yaml-value.ts";

/** A file as it was written: what a client without repairs would see. */
export interface WrittenSkill {
  /** Null: no frontmatter, or one that is not YAML. */
  readonly values: YamlMapping | null;
  /** The frontmatter's text, empty when there is none. */
  readonly yaml: string;
  readonly linesBefore: number;
  readonly directoryName: string;
  readonly sizeBytes: number;
  readonly hasByteOrderMark: boolean;
  /** Set when the frontmatter cannot be read as it is: where, and what is wrong. */
  readonly broken: Problem | null;
}

type Problem = Conformance["problems"][number];
type Rule = (skill: WrittenSkill, values: YamlMapping) => (Problem | null)[];

/** Analyzer a file by the rules of every target. */
export function conformanceOf(skill: WrittenSkill): Conformance[] {
  // Targets share rules; each is asked once.
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
  const problems: Problem[] = [];
  for (const rule of rules) {
    let found = known.get(rule);
    if (found === undefined) {
      const said = rule(skill, values);
      found = said.length === 0 ? NONE : said.filter((problem) => problem !== null);
      known.set(rule, found);
    }
    for (const problem of found) problems.push(problem);
  }
  return problems;
}

const NONE: readonly Problem[] = [];
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

const onlySixKeys: Rule = (skill, values) =>
  Object.keys(values).map((key) =>
    SIX.has(key) ? null : at(skill, key, "unexpected_key", `the key ${key} is not allowed`),
  );

const standardName: Rule = (skill, values) => {
  const name = textOf(values["name"]);
  const say = (code: string, message: string) => at(skill, "name", code, message);
  if (name === "") return [say("name_missing", "name is required")];
  return [
    name.length > 64 ? say("name_too_long", "name has more than 64 characters") : null,
    /^[\p{Ll}\p{Lo}\p{Nd}]+(?:-[\p{Ll}\p{Lo}\p{Nd}]+)*$/u.test(name)
      ? null
      : say("name_pattern", "name must be lowercase letters, digits and single hyphens"),
    name === skill.directoryName
      ? null
      : say("name_differs", `name must be the directory's name, ${skill.directoryName}`),
  ];
};

const describedIn =
  (maximum: number): Rule =>
  (skill, values) => {
    const description = textOf(values["description"]);
    const say = (code: string, message: string) => at(skill, "description", code, message);
    if (description === "") return [say("description_missing", "description is required, as text")];
    return description.length > maximum
      ? [say("description_too_long", `description has more than ${maximum} characters`)]
      : [];
  };

const standardFields: Rule = (skill, values) => {
  const { compatibility, metadata } = values;
  const tools = values["allowed-tools"];
  const say = (key: string, code: string, message: string) => at(skill, key, code, message);
  const length = textOf(compatibility).length;
  const isTextMap =
    isMapping(metadata) && Object.values(metadata).every((value) => typeof value === "string");
  return [
    compatibility === undefined || (length > 0 && length <= 500)
      ? null
      : say("compatibility", "compatibility_length", "compatibility must have 1 to 500 characters"),
    metadata === undefined || isTextMap
      ? null
      : say("metadata", "metadata_not_text", "metadata must be a mapping from text to text"),
    tools === undefined || (typeof tools === "string" && !hasOuterComma(tools))
      ? null
      : say(
          "allowed-tools",
          "allowed_tools_form",
          "allowed-tools must be text with spaces between",
        ),
  ];
};

const anthropicWords: Rule = (skill, values) => {
  const name = textOf(values["name"]);
  const tag = /<[a-z/][^>]*>/i;
  const say = (key: string, code: string, message: string) => at(skill, key, code, message);
  return [
    /anthropic|claude/i.test(name)
      ? say("name", "reserved_word", "name must not contain anthropic or claude")
      : null,
    tag.test(name) ? say("name", "xml_tag", "name must not contain XML tags") : null,
    tag.test(textOf(values["description"]))
      ? say("description", "xml_tag", "description must not contain XML tags")
      : null,
  ];
};

const flags =
  (...keys: readonly string[]): Rule =>
  (skill, values) =>
    keys.map((key) =>
      values[key] === undefined || FLAG.test(textOf(values[key]))
        ? null
        : at(skill, key, "not_a_flag", `${key} must be true or false`),
    );

const oneOf =
  (key: string, allowed: readonly string[]): Rule =>
  (skill, values) =>
    values[key] === undefined || allowed.includes(textOf(values[key]))
      ? []
      : [at(skill, key, "unknown_value", `${key} must be one of ${allowed.join(", ")}`)];

const metadataIsMap: Rule = (skill, values) =>
  values["metadata"] === undefined || isMapping(values["metadata"])
    ? []
    : [
        at(
          skill,
          "metadata",
          "metadata_not_a_mapping",
          "metadata that is not a mapping is dropped",
        ),
      ];

const readAliases =
  (...read: readonly string[]): Rule =>
  (skill, values) => {
    const { metadata } = values;
    if (!isMapping(metadata) || read.some((alias) => metadata[alias] !== undefined)) return [];
    const lost = ["openclaw", "clawdbot", "moltbot", "clawdis"].filter((alias) =>
      isMapping(metadata[alias]),
    );
    return lost.map((alias) =>
      at(skill, "metadata", "ignored_alias", `metadata.${alias} is not read; call it ${read[0]}`),
    );
  };

const installKinds: Rule = (skill, values) => {
  const { metadata } = values;
  const part = isMapping(metadata) ? (metadata["openclaw"] ?? metadata["clawdbot"]) : undefined;
  const install = isMapping(part) ? part["install"] : undefined;
  if (!Array.isArray(install)) return [];
  return install.map((item) => {
    const kind = isMapping(item) ? textOf(item["kind"]) : "";
    const message = `install kind ${JSON.stringify(kind)} is dropped`;
    return INSTALL_KINDS.has(kind) ? null : at(skill, "metadata", "unknown_install_kind", message);
  });
};

const fileSize: Rule = (skill) =>
  skill.sizeBytes > OPENCLAW_LIMIT_BYTES
    ? [whole("file_too_large", `the file has more than ${OPENCLAW_LIMIT_BYTES} bytes`)]
    : [];

const noByteOrderMark: Rule = (skill) =>
  skill.hasByteOrderMark
    ? [whole("byte_order_mark", "a byte order mark hides the frontmatter; save without it")]
    : [];

const semanticVersion: Rule = (skill, values) =>
  values["version"] === undefined || SEMVER.test(textOf(values["version"]))
    ? []
    : [at(skill, "version", "version_not_semver", "version must be of the form 1.2.3")];

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

function at(skill: WrittenSkill, key: string, code: string, message: string): Problem {
  const index = skill.yaml.split("\n").findIndex((text) => text.startsWith(`${key}:`));
  return { code, message, line: index < 0 ? null : index + 1 + skill.linesBefore };
}

function whole(code: string, message: string): Problem {
  return { code, message, line: null };
}

function textOf(value: YamlValue | undefined): string {
  return typeof value === "string" ? value.trim() : "";
}

/** `Bash(a, b)` is one word. */
function hasOuterComma(text: string): boolean {
  return text.replaceAll(/\([^()]*\)/g, "").includes(",");
}
