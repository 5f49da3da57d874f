/** Returns the marks of a scale from 0 to `top`: three to six of them, a round distance apart. With `isWhole` there are no fractions. */
export function marksTo(top: number, { isWhole }: { readonly isWhole: boolean }): number[] {
  const least = top / 4;
  const power = 10 ** Math.floor(Math.log10(least));
  const round = (ROUND.find((factor) => factor * power >= least) ?? 10) * power;
  const step = isWhole ? Math.max(1, Math.ceil(round)) : round;
  // Rounded, because 3 × 0.1 is a little more than 0.3.
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, index) =>
    Number((index * step).toPrecision(12)),
  );
}

const ROUND = [1, 2, 2.5, 5, 10];
