import { posix } from "node:path";
import { preparsePolicySet, statefulIsAuthorized } from "@cedar-policy/cedar-wasm/nodejs";
import type { ArgumentCondition, Condition } from "../src/schema/condition-schema.ts";
import type { Rule } from "../src/schema/bundle.ts";
import type { Call } from "../src/engine/evaluate.ts";

/**
 * The same rules as Cedar policies, decided by Cedar's own engine. Cedar answers yes or no, so three actions are queried: may it
 * be called at all, with an approval for a session at most, and with none. Each argument is given as a record of its type, its
 * value and plain facts about it, which are computed here without a line of the engine: this file may use no part of it.
 */
export type OracleAnswer = "deny" | "always" | "session" | "auto";

const POLICIES = "policy";

/** Replaces the policies that {@link askCedar} decides by. */
export function loadCedar(rules: readonly Rule[]): void {
  const texts = rules.flatMap((rule) => policiesOf(rule));
  const loaded = preparsePolicySet(POLICIES, { staticPolicies: texts.join("\n") });
  if (loaded.type === "failure") throw new Error(JSON.stringify(loaded.errors));
}

export function askCedar(call: Call): OracleAnswer {
  if (!isPermitted("call", call)) return "deny";
  if (!isPermitted("callForSession", call)) return "always";
  return isPermitted("callUnattended", call) ? "auto" : "session";
}

function isPermitted(action: string, call: Call): boolean {
  const answer = statefulIsAuthorized({
    principal: { type: "Principal", id: "p" },
    action: { type: "Action", id: action },
    resource: { type: "Tool", id: "t" },
    context: contextOf(call),
    preparsedPolicySetId: POLICIES,
    entities: [],
  });
  if (answer.type === "failure") throw new Error(JSON.stringify(answer.errors));
  const { errors } = answer.response.diagnostics;
  // A policy that fails is skipped by Cedar: then it would be no oracle.
  if (errors.length > 0) throw new Error(JSON.stringify(errors));
  return answer.response.decision === "allow";
}

function policiesOf(rule: Rule): string[] {
  const when = [...whoOf(rule), ...whatOf(rule), ...(rule.when ?? []).map(conditionOf(rule))];
  const body = `when { ${when.length === 0 ? "true" : when.map((text) => `(${text})`).join(" && ")} };`;
  const policy = (kind: string, actions: string) =>
    `${kind} (principal, action${actions}, resource) ${body}`;
  if (rule.effect === "deny") return [policy("forbid", "")];
  const tier = rule.approval ?? "session"; // the default approval of MCP tools; only such tools are generated
  const unattended = tier === "auto" ? [] : [policy("forbid", ' == Action::"callUnattended"')];
  const session = tier === "always" ? [policy("forbid", ' == Action::"callForSession"')] : [];
  return [policy("permit", ""), ...unattended, ...session];
}

function whoOf({ who }: Rule): string[] {
  const any = (globs: readonly string[] | undefined, member: string) =>
    globs === undefined
      ? []
      : [
          `context has ${member} && (${globs.map((glob) => likes(`context.${member}`, glob)).join(" || ")})`,
        ];
  const roles =
    who?.roles === undefined ? [] : [`context.roles.containsAny(${JSON.stringify(who.roles)})`];
  return [
    ...any(who?.agents, "agent"),
    ...any(who?.users, "user"),
    ...any(who?.channels, "channel"),
    ...any(who?.groups, "grp"),
    ...roles,
  ];
}

function whatOf({ what }: Rule): string[] {
  const names = (what?.tools ?? ["*"]).map((tool) => likes("context.tool", tool)).join(" || ");
  const servers = what?.servers?.map((server) => likes("context.server", server)).join(" || ");
  const { any, not } = what?.labels ?? {};
  return [
    names,
    ...(servers === undefined ? [] : [servers]),
    ...(any === undefined ? [] : [`context.labels.containsAny(${JSON.stringify(any)})`]),
    ...(not === undefined ? [] : [`!context.labels.containsAny(${JSON.stringify(not)})`]),
  ];
}

/** An argument that cannot be judged counts as matching for a deny rule and not for an allow rule. */
function conditionOf({ effect }: Pick<Rule, "effect">) {
  return (condition: Condition): string => {
    if (!("arg" in condition)) throw new TypeError("only conditions on arguments are compared");
    const [name = "", inner] = condition.arg.slice(1).split("/");
    const holder = inner === undefined ? "context.args" : `context.args.${name}.v`;
    const member = inner ?? name;
    const isThere = `(${holder} has ${member})`;
    // An argument below something that is not an object is there and cannot be judged.
    const isBlocked =
      inner === undefined
        ? "false"
        : `(context.args has ${name} && context.args.${name}.t != "object")`;
    const isReached =
      inner === undefined ? isThere : `(context.args has ${name} && !${isBlocked} && ${isThere})`;
    if (condition.op === "absent") {
      const holds = `(!${isBlocked} && !${isReached})`;
      return effect === "deny" ? `${isBlocked} || ${holds}` : holds;
    }
    const value = `${holder}.${member}`;
    const { comparable, holds } = comparisonOf(condition, value);
    if (effect === "allow") return `!${isBlocked} && ${isReached} && ${comparable} && ${holds}`;
    const missing = condition.required === true ? `!${isReached}` : "false";
    return `${isBlocked} || (${isReached} && (!(${comparable}) || ${holds})) || (!${isBlocked} && ${missing})`;
  };
}

type Comparing = Exclude<ArgumentCondition, { op: "absent" }>;

function comparisonOf(condition: Comparing, at: string): { comparable: string; holds: string } {
  const isText = `${at}.t == "string"`;
  switch (condition.op) {
    case "eq":
      return equalsAny([condition.value ?? null], at);
    case "in":
      return equalsAny(condition.value, at);
    case "inFile":
      return {
        comparable: isText,
        holds: `${JSON.stringify(LISTS[condition.value])}.contains(${at}.v)`,
      };
    case "prefix":
      return { comparable: isText, holds: `${at}.v like "${escaped(condition.value)}*"` };
    case "glob":
      return { comparable: isText, holds: likes(`${at}.v`, condition.value) };
    case "matches":
      return {
        comparable: isText,
        holds: `${at}.matching.contains(${JSON.stringify(condition.value)})`,
      };
    case "lt":
    case "lte":
    case "gt":
    case "gte": {
      const limit = scaled(condition.value ?? Number.NaN);
      return {
        comparable: `${at}.t == "number"`,
        holds: `${at}.v ${SIGNS[condition.op]} ${limit}`,
      };
    }
    case "maxLength":
      return { comparable: `${at} has length`, holds: `${at}.length <= ${condition.value}` };
    case "pathWithin": {
      const base = posix.normalize(condition.value).replace(/(?<=.)\/$/, "");
      const isSame = `${at}.isAbsolute == ${condition.value.startsWith("/")}`;
      const comparable = `${at} has above && ${isSame}`;
      return { comparable, holds: `${at}.above.contains(${JSON.stringify(base)})` };
    }
    case "hostIn": {
      const hosts = condition.value.map((host) => likes(`${at}.host`, host)).join(" || ");
      return { comparable: `${at} has host`, holds: `(${hosts})` };
    }
    default:
      return condition satisfies never;
  }
}

const SIGNS = { lt: "<", lte: "<=", gt: ">", gte: ">=" } as const;

/** The lists of the rules that are compared. */
export const LISTS: Readonly<Record<string, readonly string[]>> = {
  "list.txt": ["ab", "a/b", "é"],
};

/** Patterns that JavaScript reads as RE2 does, so that each text can list those that match it. */
export const PATTERNS = ["a+b?", "[a-z]", "a.*", "(ab|a/b)", "\\S*1"] as const;

function equalsAny(values: readonly unknown[], at: string) {
  const types = [...new Set(values.map(typeOf))].map((type) => `${at}.t == "${type}"`);
  const equal = values.map((value) =>
    value === null
      ? `${at}.t == "null"`
      : `(${at}.t == "${typeOf(value)}" && ${at}.v == ${literal(value)})`,
  );
  return { comparable: `(${types.join(" || ")})`, holds: `(${equal.join(" || ")})` };
}

function contextOf({ principal, tool, args, server }: Call) {
  const { channel, group } = principal.context ?? {};
  return {
    user: principal.user,
    ...(principal.agent !== null && { agent: principal.agent }),
    ...(channel !== undefined && { channel }),
    ...(group !== undefined && { grp: group }),
    roles: [...(principal.roles ?? [])],
    labels: [...(server?.labels ?? [])],
    server: tool.server ?? "",
    tool: tool.tool,
    args: recordsOf(args),
  };
}

type Fact = string | number | boolean | Fact[] | { [name: string]: Fact };

function recordsOf(args: Readonly<Record<string, unknown>>): { [name: string]: Fact } {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, recordOf(value)]));
}

function recordOf(value: unknown): { [name: string]: Fact } {
  const t = typeOf(value);
  if (typeof value === "string")
    return {
      t,
      v: value,
      length: Array.from(value).length,
      matching: PATTERNS.filter((pattern) => new RegExp(`^(?:${pattern})$`, "u").test(value)),
      ...pathFacts(value),
      ...hostFacts(value),
    };
  if (typeof value === "number") return { t, v: scaled(value) };
  if (typeof value === "boolean") return { t, v: value };
  if (Array.isArray(value)) return { t: "array", length: value.length };
  if (value === null) return { t };
  return { t, v: recordsOf(Object(value) as Record<string, unknown>) }; // of generated JSON
}

/** Returns every directory that contains the path, and the path itself; an empty record for an ambiguous path. */
function pathFacts(text: string): { [name: string]: Fact } {
  if (text === "" || /^~|[\\"':]/.test(text)) return {};
  const path = posix.normalize(text).replace(/(?<=.)\/$/, "");
  if (path === ".." || path.startsWith("../")) return {};
  const above = [path];
  for (let at = path; posix.dirname(at) !== at; at = posix.dirname(at))
    above.push(posix.dirname(at));
  return { isAbsolute: text.startsWith("/"), above };
}

function hostFacts(text: string): { [name: string]: Fact } {
  if (/[\s\\@]/.test(text)) return {};
  const bare = /^[A-Za-z0-9.-]+$/.test(text);
  if (!bare && !/^https?:\/\/[a-z]/.test(text)) return {};
  const url = URL.parse(bare ? `http://${text}` : text);
  return url === null ? {} : { host: url.hostname.replace(/\.$/, "") };
}

/** Doubles the value, so that halves become integers, the only numbers Cedar has. */
function scaled(value: number): number {
  return value * 2;
}

function literal(value: unknown): string {
  return JSON.stringify(typeof value === "number" ? scaled(value) : value);
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

const LETTERS = ["a", "b", "e", "o", "/", ".", "é", "1"];

/** Cedar has no `?`: it becomes one pattern for each letter that the generated texts have. */
function likes(what: string, glob: string): string {
  const at = glob.indexOf("?");
  if (at === -1) return `${what} like "${glob.split("*").map(escaped).join("*")}"`;
  const each = LETTERS.map((letter) =>
    likes(what, glob.slice(0, at) + letter + glob.slice(at + 1)),
  );
  return `(${each.join(" || ")})`;
}

function escaped(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replaceAll("*", String.raw`\*`);
}
