export const Logo = () => (
  <svg
    width="18"
    height="18"
    viewBox="0 0 16 16"
    fill="none"
    stroke="var(--accent)"
    strokeWidth="2"
    strokeLinecap="round"
    aria-hidden="true"
  >
    <path d="M2 4.5c4 0 4 7 8 7M2 11.5c4 0 4-7 8-7M10 4.5h4M10 11.5h4" />
  </svg>
);
