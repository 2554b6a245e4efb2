/** Drawn as SVG, since not every machine has a font with these emoji. */
export const Thumb = ({ isUp, label }: { isUp: boolean; label?: string }) => (
  <svg
    width="14"
    height="14"
    viewBox="0 0 16 16"
    fill="none"
    stroke={isUp ? 'var(--good)' : 'var(--bad)'}
    strokeWidth="1.5"
    strokeLinejoin="round"
    role={label ? 'img' : undefined}
    aria-label={label}
    aria-hidden={label ? undefined : true}
    transform={isUp ? undefined : 'rotate(180)'}
  >
    <path d="M2 7.5h2.5v6H2zM4.500 7.500 7.500 2c1.200 0 1.800.800 1.600 2L8.700 6.500h4c.900 0 1.500.800 1.300 1.700l-.900 4.200c-.200.700-.700 1.100-1.400 1.100H4.500z" />
  </svg>
);
