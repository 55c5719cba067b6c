/**
 * Forms of requests beyond google.api.http and protobuf's JSON mapping, for older contracts. Every
 * member defaults to false.
 */
export interface Tolerance {
  /** A query parameter with an empty value (`?size=`) counts as absent; otherwise it is empty text. */
  readonly emptyParameters?: boolean;
  /** A query parameter of a field that no text can fill is ignored; otherwise it is refused. */
  readonly unusableParameters?: boolean;
  /** Takes the first of several values for a singular field; otherwise they are refused. */
  readonly repeatedParameters?: boolean;
  /** JSON members may differ from their field's name in upper and lower case. */
  readonly memberCase?: boolean;
  /** The body `null` counts as an empty one. */
  readonly nullBody?: boolean;
  /** `""` for an optional number, boolean or enum counts as absent. */
  readonly emptyNumbers?: boolean;
  /** A slash at the end of a path that fits no template with it is left out. */
  readonly trailingSlash?: boolean;
}

/** Options for reading requests. */
export interface ReadingOptions {
  readonly tolerance?: Tolerance;
  /** Query parameters that name no field. Default `ignore`. */
  readonly unknownParameters?: "ignore" | "refuse";
  /** JSON members that name no field. Default `ignore`. */
  readonly unknownMembers?: "ignore" | "refuse";
  /** Enum values in JSON by a name that the enum does not have. Default `refuse`. */
  readonly unknownEnums?: "ignore" | "refuse";
  /**
   * JSON numbers beyond 2^53 for 64-bit integers. Default `take`, with all their digits; `refuse` asks
   * for text, since most writers of JSON have lost digits of such a number.
   */
  readonly largeIntegers?: "take" | "refuse";
  /** Query parameters fill maps, such as `labels[size]=large`. Default false: they are refused. */
  readonly mapParameters?: boolean;
  /**
   * A PATCH whose body is a field fills an absent `update_mask` of the request with the members of
   * the body. Default: false; the rpc decides what an absent mask means (AIP-134).
   */
  readonly fillUpdateMask?: boolean;
}

/** The options with their defaults. @internal */
export type Reading = Required<ReadingOptions>;

/** Fills in the defaults. @internal */
export function completeReading(options: ReadingOptions = {}): Reading {
  return {
    tolerance: options.tolerance ?? {},
    unknownParameters: options.unknownParameters ?? "ignore",
    unknownMembers: options.unknownMembers ?? "ignore",
    unknownEnums: options.unknownEnums ?? "refuse",
    largeIntegers: options.largeIntegers ?? "take",
    mapParameters: options.mapParameters ?? false,
    fillUpdateMask: options.fillUpdateMask ?? false,
  };
}
