import type { DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import { SelectField } from "../components/select-field.tsx";
import { t } from "../i18n/language.ts";

/** Choice of the driver of new mounts. */
export function DriverSelect(props: {
  readonly drivers: readonly (readonly [name: string, info: DriverInfo])[];
  readonly value: string;
  readonly onChange: (driver: string) => void;
}) {
  const { drivers, ...rest } = props;
  const options = drivers.map(([name, { label }]) => [name, label || name] as const);
  return (
    <SelectField
      {...rest}
      label={t("mount.driver")}
      options={[["", t("drivers.choose")], ...options]}
    />
  );
}
