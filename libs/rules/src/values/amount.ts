/** Sums are exact to this part of one, so that 0.1 and 0.2 are 0.3. */
const PARTS_OF_ONE = 10_000;
export const MAX_AMOUNT = 100_000_000_000;

/**
 * Converts an amount to whole ten-thousandths, which are added without rounding; null for what no sum may contain: no number, a negative
 * one, which would lower the sum, more than {@link MAX_AMOUNT}, or more than four decimal places.
 */
export function exactAmount(value: unknown): number | null {
  if (typeof value !== "number" || !(value >= 0 && value <= MAX_AMOUNT)) return null;
  const parts = Math.round(value * PARTS_OF_ONE);
  return parts / PARTS_OF_ONE === value ? parts : null;
}

/** Converts ten-thousandths to a number for people. */
export function amountText(parts: number): string {
  return String(parts / PARTS_OF_ONE);
}
