/** A value needs more work to be checked than it may cost. */
export class WorkExceededError extends Error {
  override readonly name = "WorkExceededError";
}

/**
 * Steps that the check under way may still cost. Checks are synchronous, so there is one at a time.
 * A compiled schema counts: it would otherwise take a schema of a few lines, whose references fan
 * out at every level, to stop the event loop.
 */
const budget = { steps: 0 };

export function spend(steps: number): void {
  budget.steps -= steps;
  if (budget.steps < 0) throw new WorkExceededError("the value needs too much work to be checked");
}

export function withBudget<T>(steps: number, check: () => T): T {
  budget.steps = steps;
  return check();
}
