/** Raised with every change of a rule: a stored verdict holds for one digest and one of these. */
export const SCANNER_VERSION = "3.0.0";
