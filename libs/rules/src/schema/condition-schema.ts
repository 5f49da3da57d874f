import { parsePointer } from "@switchyard/contracts/json-pointer";
import { z } from "zod";
import { isHostPattern } from "../values/host-in.ts";
import { isComparablePath } from "../values/path-within.ts";
import { objectError, Text } from "./selector-schema.ts";

const FiniteNumber = z
  .number({ error: "must be a number" })
  .refine((value) => !Number.isInteger(value) || Number.isSafeInteger(value), {
    error: "is larger than JSON numbers are exact (2^53 - 1); compare it as a text",
  });
const Scalar = z.union([Text.max(4_096), FiniteNumber, z.boolean(), z.null()], {
  error: "must be a text, a number within 2^53 - 1, true, false or null",
});
const Arg = z
  .string({ error: "must be a JSON pointer such as /path" })
  .max(256)
  .refine((pointer) => pointer !== "" && parsePointer(pointer) !== null, {
    error: "must be a JSON pointer such as /path or /options/0/name (RFC 6901)",
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

/** The condition of a rule on one argument. The vocabulary is closed. */
export const Condition = z.discriminatedUnion(
  "op",
  [
    z.strictObject({ arg: Arg, op: z.literal("eq"), value: Scalar, required }),
    z.strictObject({ arg: Arg, op: z.literal("in"), value: neverEmpty(Scalar), required }),
    z.strictObject({ arg: Arg, op: z.literal("prefix"), value: Text.min(1).max(4_096), required }),
    z.strictObject({ arg: Arg, op: z.literal("glob"), value: Text.min(1).max(256), required }),
    z.strictObject({ arg: Arg, op: z.literal("lte"), value: FiniteNumber, required }),
    z.strictObject({ arg: Arg, op: z.literal("gte"), value: FiniteNumber, required }),
    z.strictObject({ arg: Arg, op: z.literal("maxLength"), value: Length, required }),
    z.strictObject({ arg: Arg, op: z.literal("pathWithin"), value: Directory, required }),
    z.strictObject({ arg: Arg, op: z.literal("hostIn"), value: neverEmpty(HostPattern), required }),
    z.strictObject({ arg: Arg, op: z.literal("absent") }),
  ],
  { error: objectError("must be a mapping with arg, op and value") },
);
export type Condition = z.infer<typeof Condition>;

export const OPERATORS = Condition.options.map((option) => option.shape.op.value);
