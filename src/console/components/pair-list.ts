/** Names with values, in the order of their rows in a form. */
export type PairList = readonly (readonly [name: string, value: string])[];
