import type { DescMessage, DescMethod } from "@bufbuild/protobuf";

/**
 * Accepted requests outside of google.api.http and protobuf's JSON mapping, for older contracts.
 * Every member defaults to false.
 */
export interface Tolerance {
  /**
   * A query parameter with an empty value (`?size=`) counts as absent. Exceptions: booleans, and
   * numbers of calls that may change something. False: the value is empty text.
   */
  readonly emptyParameters?: boolean | undefined;
  /** A query parameter of a field without a text form is ignored. False: it is refused. */
  readonly unusableParameters?: boolean | undefined;
  /** A singular field gets the first of several values. False: they are refused. */
  readonly repeatedParameters?: boolean | undefined;
  /** JSON members may differ from their field's name in upper and lower case. */
  readonly memberCase?: boolean | undefined;
  /**
   * A call whose rule reads no body, except GET and HEAD, takes its query parameters also from the body:
   * a JSON object or a form of any content type. A field with different values in query and body is
   * refused, and `unknownParameters` decides on other members.
   */
  readonly parameterBodies?: boolean | undefined;
  /** The body `null` is read as an empty one. */
  readonly nullBody?: boolean | undefined;
  /** `""` for an optional number, boolean or enum is read as absent. */
  readonly emptyNumbers?: boolean | undefined;
  /** A trailing slash is ignored if no template matches with it. */
  readonly trailingSlash?: boolean | undefined;
}

/** Decides on a query parameter that sets no field. */
export type UnknownParameters = (parameter: {
  readonly name: string;
  readonly method: DescMethod;
  /** The call may change something. */
  readonly isWrite: boolean;
  /** The parameter names a field that is set from path or body instead. */
  readonly isTaken: boolean;
}) => string | undefined;

/** Decides on a JSON member that names no field of its message. */
export type UnknownMembers = (member: {
  readonly name: string;
  readonly message: DescMessage;
}) => string | undefined;

/** Options for reading requests. */
export interface ReadingOptions {
  /** Accepted requests outside of google.api.http and protobuf's JSON mapping. Default: none. */
  readonly tolerance?: Tolerance | undefined;
  /**
   * Query parameters that name no field. Default `ignore`. A function decides for each, also for
   * those whose field is set from path or body: it returns a problem, with which the request is
   * refused, or undefined to ignore the parameter.
   */
  readonly unknownParameters?: "ignore" | "refuse" | UnknownParameters | undefined;
  /**
   * JSON members that name no field. Default `ignore`. A function decides for each: it returns a
   * problem, with which the request is refused, or undefined to ignore the member.
   */
  readonly unknownMembers?: "ignore" | "refuse" | UnknownMembers | undefined;
  /** Enum values in JSON by a name that the enum does not have. Default `refuse`. */
  readonly unknownEnums?: "ignore" | "refuse" | undefined;
  /**
   * JSON numbers beyond 2^53 for 64-bit integers. Default `take`: accepted with all their digits.
   * `refuse`: only text is accepted, because most JSON encoders have rounded such a number.
   */
  readonly largeIntegers?: "take" | "refuse" | undefined;
  /** Query parameters set entries of maps, such as `labels[size]=large`. Default: refused. */
  readonly mapParameters?: boolean | undefined;
  /**
   * The members in the body of a PATCH whose body is a field become the `update_mask`, if the
   * request has none. Default: false; the rpc decides what an absent mask means (AIP-134). Unknown
   * members of such a body are refused, unless `unknownMembers` is set.
   */
  readonly fillUpdateMask?: boolean | undefined;
}

/** The options with their defaults. @internal */
export type Reading = {
  readonly [Name in keyof ReadingOptions]-?: NonNullable<ReadingOptions[Name]>;
} & {
  /**
   * Unknown members are refused where the body sets the `update_mask`: the application has not set
   * `unknownMembers`.
   */
  readonly hasStrictMasks: boolean;
};

/** Options with their defaults in place of absent ones. @internal */
export function completeReading(options: ReadingOptions = {}): Reading {
  return {
    tolerance: options.tolerance ?? {},
    unknownParameters: options.unknownParameters ?? "ignore",
    unknownMembers: options.unknownMembers ?? "ignore",
    unknownEnums: options.unknownEnums ?? "refuse",
    largeIntegers: options.largeIntegers ?? "take",
    mapParameters: options.mapParameters ?? false,
    fillUpdateMask: options.fillUpdateMask ?? false,
    hasStrictMasks: options.unknownMembers === undefined,
  };
}
