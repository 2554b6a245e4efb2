from skein_trainer.cli import main

if __name__ == "__main__":
    main()
