import { SET_BY_CLIENT } from "@switchyard/contracts/toolbox/toolbox";
import type { z } from "zod";

/** Marks a parameter that a model neither sees nor sets. */
export function setByClient<T extends z.ZodType>(schema: T, description: string): T {
  return schema.meta({ description, [SET_BY_CLIENT]: true });
}
