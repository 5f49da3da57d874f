import type { Literal } from "./alternatives.ts";
import type { Expression } from "./cedar-ast.ts";
import { translateArgument } from "./translate-argument.ts";
import { nameOf } from "./expression-words.ts";
import { NEVER, type Context, type Translated } from "./rule-part.ts";
import { toolOfAction } from "./tool-of-action.ts";
import { translateHistory } from "./translate-history.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const PLACE = /^[A-Za-z0-9][A-Za-z0-9_.:@#+-]{0,127}$/;

/** Translates one literal of a policy. */
export function translateLiteral({ atom, isNegated }: Literal, context: Context): Translated {
  if (atom.kind === "history") return translateHistory(atom.history, isNegated, context);
  const aboutCall = translateCaller(atom, isNegated, context);
  if (aboutCall !== null) return aboutCall;
  return translateArgument(atom, isNegated) ?? { reason: `${nameOf(atom)} is not in the subset` };
}

function translateCaller(
  atom: Expression,
  isNegated: boolean,
  context: Context,
): Translated | null {
  const compared = equality(atom);
  if (compared === null) return null;
  const { of, equals, isUnequal, isMembership = false } = compared;
  const isOpposite = isNegated !== isUnequal;
  if (of.kind === "variable" && equals.every(({ kind }) => kind === "entity")) {
    const entities = equals as readonly (Expression & { kind: "entity" })[]; // checked above
    if (of.name === "resource")
      return translateResource(entities, isOpposite, isMembership, context);
    if (isOpposite) return { reason: `rules do not select by what ${of.name} is not` };
    if (of.name === "principal") return translatePrincipal(entities);
    if (of.name === "action") return translateActions(entities, isMembership);
  }
  const member = memberOfContext(of);
  if (member === null) return null;
  return translateMember(member, equals, isOpposite);
}

interface Equality {
  readonly of: Expression;
  readonly equals: readonly Expression[];
  readonly isUnequal: boolean;
  /** True for `in`, whose right side may be a group. */
  readonly isMembership?: boolean;
}

/** Reads `a == b`, `a in b`, `a in [b, c]`, `a like "b*"`, `a is T` and `principal.getTag("username") == "b"`. */
function equality(atom: Expression): Equality | null {
  switch (atom.kind) {
    case "compare": {
      if (atom.op !== "==" && atom.op !== "!=") return null;
      const isSwapped = atom.left.kind === "literal" || atom.left.kind === "entity";
      const [of, other] = isSwapped ? [atom.right, atom.left] : [atom.left, atom.right];
      return { of: tagHolder(of), equals: [other], isUnequal: atom.op === "!=" };
    }
    case "in":
      return {
        of: atom.of,
        equals: atom.set.kind === "set" ? atom.set.items : [atom.set],
        isUnequal: false,
        isMembership: true,
      };
    case "is":
      return {
        of: atom.of,
        equals: [{ kind: "entity", type: atom.type, id: "" }],
        isUnequal: false,
      };
    case "like":
    case "call":
      return { of: tagHolder(atom), equals: [atom], isUnequal: false };
    default:
      return null;
  }
}

/** AgentCore has the name of the user in a tag of the principal. */
function tagHolder(of: Expression): Expression {
  if (of.kind === "like") return of.of;
  if (of.kind !== "call" || of.of === null) return of;
  const isPrincipal = of.of.kind === "variable" && of.of.name === "principal";
  const [tag] = of.args;
  const isUserName = tag?.kind === "literal" && tag.value === "username";
  if (isPrincipal && isUserName) return { kind: "attribute", of: of.of, name: of.name };
  return of.of;
}

/** The name of a fact about the caller or the tool; null for anything else. */
function memberOfContext(of: Expression): string | null {
  if (of.kind !== "attribute" || of.of.kind !== "variable") return null;
  if (of.of.name === "principal")
    return of.name === "getTag" || of.name === "hasTag" ? of.name : null;
  return of.of.name === "context" && of.name !== "input" ? of.name : null;
}

function translateMember(
  member: string,
  equals: readonly Expression[],
  isOpposite: boolean,
): Translated | null {
  const [value] = equals;
  if (member === "hasTag") return isOpposite ? NEVER : {};
  if (member === "roles" || member === "labels") return translateSet(member, value, isOpposite);
  const selector = SELECTORS[member];
  if (selector === undefined || equals.length !== 1 || value === undefined) return null;
  const glob = globOf(value);
  if (isOpposite) {
    // Text that is empty where a call has no agent, channel or group.
    if (glob === "" && selector !== "server") return { [selector]: "*" };
    return {
      reason: `rules do not select by what the ${member === "getTag" ? "user" : member} is not`,
    };
  }
  if (glob === "" && selector === "server") return { server: "" };
  if (glob === null || glob === "")
    return { reason: `${member} is compared with what no ${member} is` };
  const plain = glob.replaceAll("*", "");
  const pattern = selector === "channels" || selector === "groups" ? PLACE : NAME;
  const isName =
    selector === "server" || selector === "tool" || plain === "" || pattern.test(plain);
  return isName ? { [selector]: glob } : NEVER;
}

const SELECTORS: Readonly<
  Record<string, "users" | "agents" | "channels" | "groups" | "server" | "tool">
> = {
  user: "users",
  getTag: "users",
  agent: "agents",
  channel: "channels",
  group: "groups",
  server: "server",
  tool: "tool",
};

/** A text, or a pattern of `like`, as a pattern of rules; null where they have none. */
function globOf(value: Expression): string | null {
  if (value.kind === "literal" && typeof value.value === "string")
    return /[*?]/.test(value.value) ? null : value.value;
  if (value.kind !== "like") return null;
  return value.parts.some((part) => /[*?]/.test(part)) ? null : value.parts.join("*");
}

function translateSet(
  member: "roles" | "labels",
  value: Expression | undefined,
  isOpposite: boolean,
): Translated {
  const reason = `this condition on ${member} is not in the subset`;
  if (value?.kind !== "call" || (value.name !== "contains" && value.name !== "containsAny"))
    return { reason };
  const [argument] = value.args;
  const items =
    argument?.kind === "set" ? argument.items : argument === undefined ? [] : [argument];
  const names = items.flatMap((item) =>
    item.kind === "literal" && typeof item.value === "string" && NAME.test(item.value)
      ? [item.value]
      : [],
  );
  if (names.length === 0 || names.length !== items.length) return { reason };
  if (member === "labels") return { labels: isOpposite ? { not: names } : { any: names } };
  return isOpposite
    ? { reason: "rules do not select by roles that a caller does not have" }
    : { roles: names };
}

function translateResource(
  entities: readonly (Expression & { kind: "entity" })[],
  isOpposite: boolean,
  isMembership: boolean,
  { resource }: Context,
): Translated {
  if (resource === null)
    return { reason: "it is about one resource; --resource states which one is this installation" };
  const isHere = entities.some(({ type, id }) =>
    id === "" ? resource.startsWith(`${type}::"`) : `${type}::${JSON.stringify(id)}` === resource,
  );
  if (!isHere && isMembership)
    return { reason: "the resource may be a group that this installation belongs to" };
  return isHere === isOpposite ? NEVER : {};
}

function translatePrincipal(entities: readonly (Expression & { kind: "entity" })[]): Translated {
  const [entity] = entities;
  if (entities.length !== 1 || entity === undefined)
    return { reason: "it names several principals at once" };
  const type = entity.type.split("::").at(-1) ?? "";
  const selector =
    type === "User" || type === "OAuthUser" ? "users" : type === "Agent" ? "agents" : null;
  if (entity.id === "" && selector !== null) return selector === "users" ? {} : { agents: "*" };
  if (selector === null && type !== "Role")
    return { reason: `principals of the type ${entity.type} are not in the subset` };
  if (!NAME.test(entity.id)) return NEVER;
  return selector === null ? { roles: [entity.id] } : { [selector]: entity.id };
}

function translateActions(
  entities: readonly (Expression & { kind: "entity" })[],
  isMembership: boolean,
): Translated {
  // The action of exported policies: the tool is in the context.
  if (entities.every(({ type, id }) => type === "Switchyard::Action" && id === "call")) return {};
  const tools = entities.map((entity) => {
    const tool = toolOfAction(entity);
    return isMembership && tool?.server === null ? null : tool;
  });
  const named = tools.filter((tool) => tool !== null);
  if (named.length === tools.length) return named.length === 0 ? NEVER : { tools: named };
  const id = JSON.stringify(entities[tools.indexOf(null)]?.id);
  const mayBeGroup = isMembership ? ", or may be a group of actions" : "";
  return { reason: `the action ${id} names no tool${mayBeGroup}` };
}
