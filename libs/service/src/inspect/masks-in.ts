import { masksIn, type Finding } from "@switchyard/contracts/policy/findings";
import { NotInspectedError, rewriteTexts } from "./texts-of.ts";

/** A mask in arguments. */
export interface Mask {
  readonly kind: Finding;
  readonly mask: string;
}

/** Returns the masks in all texts of a value; none where it is too long or too deep, because then none is turned back either. */
export function masksInValue(value: unknown): readonly Mask[] {
  const found: Mask[] = [];
  try {
    rewriteTexts(value, (text) => {
      found.push(...masksIn(text));
      return text;
    });
  } catch (error) {
    if (error instanceof NotInspectedError) return [];
    throw error;
  }
  return found;
}
