import { z } from "zod";
import { isHostPattern } from "../values/host-in.ts";
import { compileLinearPattern } from "../values/linear-pattern.ts";
import { isComparablePath } from "../values/path-within.ts";
import { ListName } from "./list-file.ts";
import { Finds } from "./result-schema.ts";
import { objectError, Text } from "./selector-schema.ts";
import { At } from "./time-schema.ts";
import { Arg, Earlier, Window } from "./window-schema.ts";

const FiniteNumber = z
  .number({ error: "must be a number" })
  .refine((value) => !Number.isInteger(value) || Number.isSafeInteger(value), {
    error: "is larger than JSON numbers are exact (2^53 - 1); compare it as a text",
  });
const Scalar = z.union([Text.max(4_096), FiniteNumber, z.boolean(), z.null()], {
  error: "must be a text, a number within 2^53 - 1, true, false or null",
});
const required = z.boolean({ error: "must be true or false" }).optional();

const Directory = Text.refine(isComparablePath, {
  error: "must be a plain directory path, absolute or relative, that does not climb out with ..",
});
const Length = z.int({ error: "must be a whole number" }).min(0, "must not be negative");
const neverEmpty = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item, { error: "must be a list" })
    .min(1, "is empty, so it would never match")
    .max(1_000, "has more than 1,000 entries");
const HostPattern = z.string({ error: "must be a text" }).refine(isHostPattern, {
  error:
    "must be a host name in lower case or an IP address, or *.example.org for all hosts below it",
});

const Pattern = Text.superRefine((pattern, context) => {
  const compiled = compileLinearPattern(pattern);
  if (typeof compiled === "string") context.addIssue({ code: "custom", message: compiled });
});

/** Compares with a value of the rule, or with another argument of the call. */
const comparing = <Op extends string, Value extends z.ZodType>(op: Op, value: Value) =>
  z
    .strictObject({
      arg: Arg,
      op: z.literal(op),
      value: value.optional(),
      than: Arg.optional(),
      required,
    })
    .superRefine((condition, context) => {
      const { than, arg } = condition;
      const hasValue = condition.value !== undefined;
      const problem = (path: string, message: string) =>
        context.addIssue({ code: "custom", path: [path], message });
      if (!hasValue && than === undefined)
        problem("value", "is missing; give it a value, or with than another argument");
      if (hasValue && than !== undefined) problem("than", "does not go beside value");
      if (than === arg) problem("than", "is the argument itself");
    });

/** The condition of a rule on arguments. The vocabulary is closed. */
export const ArgumentCondition = z.discriminatedUnion(
  "op",
  [
    comparing("eq", Scalar),
    z.strictObject({ arg: Arg, op: z.literal("in"), value: neverEmpty(Scalar), required }),
    z.strictObject({ arg: Arg, op: z.literal("inFile"), value: ListName, required }),
    z.strictObject({ arg: Arg, op: z.literal("prefix"), value: Text.min(1).max(4_096), required }),
    z.strictObject({ arg: Arg, op: z.literal("glob"), value: Text.min(1).max(256), required }),
    z.strictObject({ arg: Arg, op: z.literal("matches"), value: Pattern, required }),
    comparing("lt", FiniteNumber),
    comparing("lte", FiniteNumber),
    comparing("gt", FiniteNumber),
    comparing("gte", FiniteNumber),
    z.strictObject({ arg: Arg, op: z.literal("maxLength"), value: Length, required }),
    z.strictObject({ arg: Arg, op: z.literal("pathWithin"), value: Directory, required }),
    z.strictObject({ arg: Arg, op: z.literal("hostIn"), value: neverEmpty(HostPattern), required }),
    z.strictObject({ arg: Arg, op: z.literal("absent") }),
  ],
  { error: objectError("must be a mapping with arg, op and value") },
);
export type ArgumentCondition = z.infer<typeof ArgumentCondition>;

export const OPERATORS = ArgumentCondition.options.map((option) => option.shape.op.value);

const AtCondition = z.strictObject({ at: At });
const FindsCondition = z.strictObject({ finds: Finds });
const Negatable = oneOfKeys({ at: AtCondition, finds: FindsCondition }, ArgumentCondition);
const NotCondition = z.strictObject({ not: Negatable });

const WindowCondition = z.strictObject({ window: Window });
const AfterCondition = z.strictObject({ after: Earlier });
const NeverAfterCondition = z.strictObject({ neverAfter: Earlier });

/** One condition of a rule: about arguments, about what is found in them, about the time of the call, or about earlier calls. */
export const Condition = oneOfKeys(
  {
    at: AtCondition,
    finds: FindsCondition,
    not: NotCondition,
    window: WindowCondition,
    after: AfterCondition,
    neverAfter: NeverAfterCondition,
  },
  ArgumentCondition,
);
export type Condition = z.infer<typeof Condition>;

/** True for a condition on earlier calls, whose answer changes with each call. */
export function isTemporal(condition: Condition): boolean {
  return "window" in condition || "after" in condition || "neverAfter" in condition;
}

/** Returns the keys that a mapping below a condition may have. */
export function conditionKeys(path: readonly PropertyKey[]): readonly string[] {
  const [part] = path;
  if (part === "at") return Object.keys(At.shape);
  if (part === "window") return Object.keys(Window.shape);
  if (part === "after" || part === "neverAfter") return Object.keys(Earlier.shape);
  if (part === "not") return [...ARGUMENT_KEYS, "at", "finds"];
  return [...ARGUMENT_KEYS, "not", "at", "finds", "window", "after", "neverAfter"];
}

const ARGUMENT_KEYS = ["arg", "op", "value", "than", "required"] as const;

/** Accepts the shape whose key is present, so that the errors are those of the intended shape alone. */
function oneOfKeys<Shapes extends Record<string, z.ZodType>, Other extends z.ZodType>(
  shapes: Shapes,
  other: Other,
) {
  type Output = z.infer<Shapes[keyof Shapes]> | z.infer<Other>;
  return z.unknown().transform((input, context): Output => {
    const isMapping = typeof input === "object" && input !== null;
    const key = isMapping
      ? Object.keys(shapes).find((one) => Object.hasOwn(input, one))
      : undefined;
    const shape = key === undefined ? other : shapes[key];
    const parsed = (shape ?? other).safeParse(input, { reportInput: true });
    if (parsed.success) return parsed.data as Output; // of one of these shapes
    // The finished issues have the shape of raw ones, with their messages.
    context.issues.push(...(parsed.error.issues as z.core.$ZodRawIssue[]));
    return z.NEVER;
  });
}
