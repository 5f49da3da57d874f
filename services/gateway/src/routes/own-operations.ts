import type { Rpc } from "@switchyard/contracts/define";
import type { z } from "zod";

/** Answers an operation for a caller whose right to it was checked. Rejects with a ServiceError of the operation. */
type Answer<R extends Rpc> = (
  request: z.output<R["request"]>,
  caller: string,
) => Promise<z.input<R["reply"]>>;

/** The operations that the gateway answers by itself, without a call over the bus. */
export class OwnOperations {
  readonly #answers = new Map<unknown, (request: unknown, caller: string) => Promise<unknown>>();

  add<R extends Rpc>(contract: R, answer: Answer<R>): void {
    this.#answers.set(contract, async (request, caller) =>
      // R's own schema parses it.
      answer(contract.request.parse(request) as z.output<R["request"]>, caller),
    );
  }

  /** Returns undefined for operations that services answer. */
  of(contract: unknown): ((request: unknown, caller: string) => Promise<unknown>) | undefined {
    return this.#answers.get(contract);
  }
}
