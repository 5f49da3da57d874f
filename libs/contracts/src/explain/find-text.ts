import { z } from "zod";
import { descriptions } from "./descriptions.ts";
import { examples } from "./examples.ts";
import { schemaNames } from "./schema-names.ts";

/** Returns the description of a property, or null when there is none. */
export function textAt(place: string, schema: z.ZodType): string | null {
  const [key] = keysIn(descriptions, place, schema);
  return key === undefined ? null : (descriptions[key] ?? null);
}

/** Returns the key of the written example that fits a property best, or null when none fits it. */
export function exampleKey(place: string, schema: z.ZodType): string | null {
  const keys = keysIn(examples, place, schema);
  return keys.find((key) => schema.safeParse(examples[key]).success) ?? null;
}

/**
 * Returns the keys under which a table has a property, the most exact one first. `RunSummary.parent.callId` is looked up, then
 * `parent.callId`, then the place of another schema that shares this property, then the name of the property's own object, then `callId`,
 * and then the name of the property's own schema.
 */
export function keysIn(
  texts: Readonly<Record<string, unknown>>,
  place: string,
  schema: z.ZodType,
): string[] {
  const words = place.split(".");
  const places = words.map((_, index) => words.slice(index).join("."));
  const name = places.pop() ?? place;
  const { object, scalar } = schemaName(schema);
  const keys = [...places, sharedPlaces().get(schema), object, name, scalar];
  return keys.filter((key) => key !== undefined).filter((key) => Object.hasOwn(texts, key));
}

let shared: ReadonlyMap<z.ZodType, string> | null = null;

/** Maps the properties of exported schemas to their places: `extend` and `pick` of zod make new schemas with the same properties. */
function sharedPlaces(): ReadonlyMap<z.ZodType, string> {
  shared ??= new Map(
    [...schemaNames()].flatMap(([schema, name]) =>
      schema instanceof z.ZodObject
        ? Object.entries<z.ZodType>(schema.shape)
            .filter(([, property]) => !schemaNames().has(property))
            .map(([key, property]) => [property, `${name}.${key}`] as const)
        : [],
    ),
  );
  return shared;
}

/** Returns the name of a schema, or of the one that it makes optional. */
function schemaName(schema: z.ZodType): { readonly object?: string; readonly scalar?: string } {
  const name = schemaNames().get(schema);
  if (name !== undefined)
    return schema instanceof z.ZodObject ? { object: name } : { scalar: name };
  // Definitions of optional, nullable and default schemas have an inner one.
  const { innerType } = schema.def as { readonly innerType?: z.ZodType };
  return innerType === undefined ? {} : schemaName(innerType);
}
